// Returns what is wrong with how a page looks and is read, as sentences: `overlaps`, `contrast` and `names`.
() => {
  const INTERACTIVE = "a[href], button, input, select, textarea, summary, [tabindex], [role=button], [role=tab], [role=option]";
  /** Pixels that rounding and shadows may hide. */
  const SLACK = 12;
  const NATIVE = new Set(["A", "BUTTON", "INPUT", "SELECT", "TEXTAREA", "SUMMARY"]);
  // Behind a modal dialog nothing can be used.
  const root = document.querySelector("dialog:modal") ?? document.body;
  const elements = [...root.querySelectorAll("*")];

  const memo = compute => {
    const kept = new Map();
    return key => kept.get(key) ?? kept.set(key, compute(key)).get(key);
  };

  const title = element => {
    const classes = [...element.classList].map(name => "." + name).join("");
    const test = element.getAttribute("data-test");
    return element.tagName.toLowerCase() + (test ? `[${test}]` : classes) + ` "${(element.textContent || "").trim().slice(0, 30)}"`;
  };

  const styleOf = memo(element => getComputedStyle(element));
  const EVERYWHERE = { left: -Infinity, top: -Infinity, right: Infinity, bottom: Infinity };
  const cut = (one, two) => ({
    left: Math.max(one.left, two.left),
    top: Math.max(one.top, two.top),
    right: Math.min(one.right, two.right),
    bottom: Math.min(one.bottom, two.bottom),
  });
  /** Where the content of an element can be seen. */
  const window = memo(element => {
    const outer = element.parentElement ? window(element.parentElement) : EVERYWHERE;
    return styleOf(element).overflow === "visible" ? outer : cut(outer, element.getBoundingClientRect());
  });
  /** What of an element can be seen; null for nothing. */
  const visible = element => {
    if (!element.checkVisibility({ opacityProperty: true, visibilityProperty: true })) return null;
    const box = cut(element.getBoundingClientRect(), window(element.parentElement));
    return box.right - box.left >= 1 && box.bottom - box.top >= 1 ? box : null;
  };

  const overlaps = () => {
    const blocks = elements.filter(element => element.matches(INTERACTIVE + ", [data-test], [data-block]"));
    const boxes = blocks.map(element => ({ element, box: visible(element) })).filter(({ box }) => box);
    const wrong = [];
    for (const [index, { element, box }] of boxes.entries()) {
      if (box.right > innerWidth + 1) wrong.push(`${title(element)} leaves the window at the right: ${box.right}`);
      for (const { element: other, box: second } of boxes.slice(index + 1)) {
        if (element.contains(other) || other.contains(element)) continue;
        const width = Math.min(box.right, second.right) - Math.max(box.left, second.left);
        const height = Math.min(box.bottom, second.bottom) - Math.max(box.top, second.top);
        if (width > 2 && height > 2) wrong.push(`${title(element)} overlaps ${title(other)}`);
      }
    }
    return wrong;
  };

  const canvas = Object.assign(document.createElement("canvas"), { width: 1, height: 1 });
  const context = canvas.getContext("2d", { willReadFrequently: true });
  const colour = memo(text => {
    context.clearRect(0, 0, 1, 1);
    context.fillStyle = text;
    context.fillRect(0, 0, 1, 1);
    const [red, green, blue, alpha] = context.getImageData(0, 0, 1, 1).data;
    return [red, green, blue, alpha / 255];
  });
  const over = (front, back) => back.slice(0, 3).map((part, at) => front[at] * front[3] + part * (1 - front[3]));
  const luminance = parts => {
    const [red, green, blue] = parts.map(part => part / 255).map(part => (part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4));
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const background = memo(element => {
    const back = element.parentElement ? background(element.parentElement) : colour("Canvas").slice(0, 3);
    return over(colour(styleOf(element).backgroundColor), back);
  });

  const contrast = () => {
    const wrong = new Set();
    for (const element of elements) {
      const text = [...element.childNodes].some(node => node.nodeType === Node.TEXT_NODE && node.data.trim());
      if (!text || element.closest(":disabled, [aria-disabled=true], option, svg") || !visible(element)) continue;
      const style = styleOf(element);
      const back = background(element);
      const front = over([...colour(style.color).slice(0, 3), colour(style.color)[3] * Number(style.opacity)], back);
      const [dark, light] = [luminance(front), luminance(back)].sort((a, b) => a - b);
      const ratio = (light + 0.05) / (dark + 0.05);
      const size = parseFloat(style.fontSize);
      const least = size >= 24 || (size >= 18.66 && Number(style.fontWeight) >= 700) ? 3 : 4.5;
      if (ratio < least) wrong.add(`${title(element)} has a contrast of ${ratio.toFixed(2)}: ${style.color} on ${back.map(Math.round)}`);
    }
    return [...wrong];
  };

  const name = element => {
    const by = (element.getAttribute("aria-labelledby") || "").split(/\s+/).filter(Boolean);
    const texts = by.map(id => document.getElementById(id)?.textContent ?? "");
    const labels = [...(element.labels ?? [])].map(label => label.textContent ?? "");
    const own = element.matches("input, select, textarea") ? "" : element.textContent;
    return [element.getAttribute("aria-label"), ...texts, ...labels, own, element.title].join("").trim();
  };

  const names = () => {
    const wrong = [];
    for (const element of elements.filter(element => element.matches(INTERACTIVE) && visible(element))) {
      if (!name(element)) wrong.push(`${title(element)} has no name`);
      if (!NATIVE.has(element.tagName) && !element.getAttribute("role")) wrong.push(`${title(element)} has no role`);
    }
    for (const attribute of ["aria-labelledby", "aria-controls", "aria-activedescendant", "aria-describedby"]) {
      for (const element of document.querySelectorAll(`[${attribute}]`)) {
        const missing = (element.getAttribute(attribute) || "").split(/\s+/).filter(id => id && !document.getElementById(id));
        if (missing.length) wrong.push(`${title(element)}: ${attribute} names ${missing}, which is not there`);
      }
    }
    for (const element of elements) {
      const { overflowX, overflowY } = styleOf(element);
      const scrolls = (more, overflow) => more > SLACK && /auto|scroll/.test(overflow);
      if (!scrolls(element.scrollWidth - element.clientWidth, overflowX) && !scrolls(element.scrollHeight - element.clientHeight, overflowY)) continue;
      const box = element.id && document.querySelector(`[role=combobox][aria-controls=${element.id}]`);
      if (!box && visible(element) && ![element, ...element.querySelectorAll("*")].some(each => each.tabIndex >= 0 && !each.disabled))
        wrong.push(`${title(element)} scrolls, and keys do not reach it`);
    }
    for (const element of document.querySelectorAll("[role=grid], [role=row], [role=listbox], [role=tablist]")) {
      const between = [...element.querySelectorAll(":scope [tabindex]:not([role]), :scope [tabindex][role=presentation]")];
      const owned = between.filter(each => each.closest("[role]:not([role=presentation])") === element && !NATIVE.has(each.tagName) && each.tagName !== "TR");
      if (owned.length) wrong.push(`${title(element)} of role ${element.getAttribute("role")} owns ${title(owned[0])}, which has none`);
    }
    if (!document.title) wrong.push("the page has no title");
    if (!document.documentElement.lang) wrong.push("the page says no language");
    return wrong;
  };

  return { overlaps: overlaps(), contrast: contrast(), names: names() };
}
