// Another model: one that comes along, a path on this machine, a file that is sent, or a text.

import { fill, h } from "whence/dom";
import { upload } from "whence/run/client";
import { button } from "whence/run/pipeline";

const EXAMPLE = `#[version = "0.0.5"]
def @main(%x: Tensor[(1, 8), float32]) {
  nn.relu(%x)
}`;

/** @param {(body: object) => Promise<void>} run */
export function modelChooser(run) {
  const names = h("datalist", { id: "model-names" });
  const name = h("input", {
    list: "model-names",
    placeholder: "name or path of a model",
    "aria-label": "Name or path of a model",
    "data-test": "model-name",
  });
  const file = h("input", {
    type: "file",
    accept: ".onnx,.tflite,.relay,.mlir",
    "aria-label": "A model of this computer",
    "data-test": "model-file",
  });
  const text = h("textarea", { rows: 4, spellcheck: "false", "aria-label": "Relay text", "data-test": "relay-text" });
  text.value = EXAMPLE;
  const error = h("p", { class: "syntax", role: "alert", hidden: true, "data-test": "model-error" });

  /** @param {() => Promise<object | null>} body */
  async function start(body) {
    error.hidden = true;
    try {
      const wanted = await body();
      if (wanted) await run(wanted);
    } catch (problem) {
      fill(error, problem instanceof Error ? problem.message : String(problem));
      error.hidden = false;
    }
  }

  const buttons = [
    button("Open", "open-model", () => start(async () => (name.value ? { model: name.value } : null))),
    button("Send and open", "send-model", () =>
      start(async () => {
        const chosen = file.files?.[0];
        return chosen ? { upload: await upload(chosen) } : null;
      }),
    ),
    button("Compile", "compile-text", () => start(async () => ({ text: text.value, suffix: ".relay" }))),
  ];
  const element = h(
    "details",
    { class: "models", "data-test": "models" },
    h("summary", {}, "Another model"),
    h("div", { class: "controls" }, name, names, buttons[0]),
    h("div", { class: "controls" }, file, buttons[1]),
    h("div", { class: "controls" }, text, buttons[2]),
    error,
  );
  return {
    element,
    /** @param {string[]} models */
    setModels(models) {
      fill(names, ...models.map((value) => h("option", { value })));
    },
    /** @param {boolean} enabled */
    enable(enabled) {
      for (const each of buttons) each.disabled = !enabled;
    },
  };
}
