"""Fitted estimators of scikit-learn, LightGBM and XGBoost, as their exporters write them.

    python tests/exports/ml/make.py FOLDER [NAME ...]    needs scikit-learn, skl2onnx, lightgbm, xgboost, onnxmltools,
                                                         pandas and packaging

Writes `<name>.onnx`, and for estimators of texts `<name>.npz` with what they are given and what they say themselves.
`tests/ml_exports.py FOLDER` holds them against onnxruntime. The small ones in `KEPT` are kept beside this file.
"""

# pyright: basic, reportMissingImports=false, reportMissingTypeStubs=false

from __future__ import annotations

import sys
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
from skl2onnx import to_onnx
from skl2onnx.common.data_types import FloatTensorType, StringTensorType
from sklearn import (
    calibration,
    cluster,
    decomposition,
    discriminant_analysis,
    ensemble,
    feature_selection,
    gaussian_process,
    impute,
    linear_model,
    mixture,
    multiclass,
    multioutput,
    naive_bayes,
    neighbors,
    neural_network,
    preprocessing,
    svm,
    tree,
)
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.datasets import make_classification
from sklearn.feature_extraction.text import CountVectorizer, TfidfVectorizer
from sklearn.pipeline import make_pipeline

KEPT = ("c_dt_3", "c_gb_s", "c_knn_2", "c_svcp_3", "r_gbr", "s_columns", "s_textclf", "t_kbins", "b_xgb2", "b_xgbr")
WORDS = np.array(["red", "green", "blue"])
DOCUMENTS = ["the red fox", "quick green dog", "the blue dog barks", "red red fox", "green fox and blue dog"] * 5

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X, Y = make_classification(200, 6, n_informative=5, n_redundant=0, n_classes=3, random_state=0)
X = X.astype(np.float32)
GAPS = np.where(rng.random(X.shape) < 0.1, np.float32(np.nan), X)
TARGET = (X[:, 0] * 2 + np.sin(X[:, 1])).astype(np.float32)
COUNTS = rng.integers(0, 5, X.shape)
CATEGORIES = WORDS[rng.integers(0, 3, (200, 2))]

CLASSIFIERS = {
    "lr": linear_model.LogisticRegression(),
    "lr_ovr": multiclass.OneVsRestClassifier(linear_model.LogisticRegression()),
    "sgd": linear_model.SGDClassifier(loss="log_loss", random_state=0),
    "perceptron": linear_model.Perceptron(),
    "ridge": linear_model.RidgeClassifier(),
    "dt": tree.DecisionTreeClassifier(max_depth=5, random_state=0),
    "rf": ensemble.RandomForestClassifier(10, random_state=0),
    "et": ensemble.ExtraTreesClassifier(10, random_state=0),
    "gb": ensemble.GradientBoostingClassifier(n_estimators=6, max_depth=2, random_state=0),
    "ada": ensemble.AdaBoostClassifier(n_estimators=5, random_state=0),
    "bag": ensemble.BaggingClassifier(n_estimators=5, random_state=0),
    "svc": svm.SVC(),
    "svcp": svm.SVC(kernel="poly", probability=True, random_state=0),
    "svclin": svm.SVC(kernel="linear"),
    "svcsig": svm.SVC(kernel="sigmoid"),
    "nusvc": svm.NuSVC(nu=0.3),
    "linsvc": svm.LinearSVC(),
    "gnb": naive_bayes.GaussianNB(),
    "bnb": naive_bayes.BernoulliNB(),
    "knn": neighbors.KNeighborsClassifier(3),
    "mlp": neural_network.MLPClassifier((8,), max_iter=50, random_state=0),
    "lda": discriminant_analysis.LinearDiscriminantAnalysis(),
    "qda": discriminant_analysis.QuadraticDiscriminantAnalysis(),
    "stack": ensemble.StackingClassifier([("a", linear_model.LogisticRegression()), ("b", naive_bayes.GaussianNB())]),
    "calib": calibration.CalibratedClassifierCV(svm.LinearSVC(), cv=2),
}
REGRESSORS = {
    "lin": linear_model.LinearRegression(),
    "bayes": linear_model.BayesianRidge(),
    "huber": linear_model.HuberRegressor(),
    "ransac": linear_model.RANSACRegressor(random_state=0),
    "dtr": tree.DecisionTreeRegressor(random_state=0),
    "rfr": ensemble.RandomForestRegressor(10, random_state=0),
    "etr": ensemble.ExtraTreesRegressor(10, random_state=0),
    "gbr": ensemble.GradientBoostingRegressor(n_estimators=10),
    "adar": ensemble.AdaBoostRegressor(n_estimators=5, random_state=0),
    "bagr": ensemble.BaggingRegressor(n_estimators=5, random_state=0),
    "svr": svm.SVR(),
    "nusvr": svm.NuSVR(kernel="poly"),
    "knnr": neighbors.KNeighborsRegressor(3),
    "mlpr": neural_network.MLPRegressor(hidden_layer_sizes=(8,), max_iter=50, random_state=0),
    "gpr": gaussian_process.GaussianProcessRegressor(),
    "multi": multioutput.MultiOutputRegressor(linear_model.Ridge()),
}
TRANSFORMERS = {
    "std": preprocessing.StandardScaler(),
    "minmax": preprocessing.MinMaxScaler(),
    "robust": preprocessing.RobustScaler(),
    "norm": preprocessing.Normalizer("l1"),
    "bin": preprocessing.Binarizer(threshold=0.2),
    "poly": preprocessing.PolynomialFeatures(2),
    "kbins": preprocessing.KBinsDiscretizer(4, encode="onehot-dense"),
    "power": preprocessing.PowerTransformer(),
    "quantile": preprocessing.QuantileTransformer(n_quantiles=20),
    "pca": decomposition.PCA(3),
    "kpca": decomposition.KernelPCA(3, kernel="rbf"),
    "svd": decomposition.TruncatedSVD(3),
    "kmeans": cluster.KMeans(3, random_state=0),
    "gmm": mixture.GaussianMixture(2, reg_covar=1e-3, random_state=0),
    "variance": feature_selection.VarianceThreshold(0.5),
    "lof": neighbors.LocalOutlierFactor(novelty=True),
    "oneclass": svm.OneClassSVM(),
}


def models() -> Iterator[tuple[str, Callable[[], Any]]]:
    """Names, and what makes the model of each."""
    for name, estimator in CLASSIFIERS.items():
        for suffix, labels in (("2", Y > 0), ("3", Y), ("s", np.array(["a", "b", "c"])[Y])):
            labels = labels.astype(int) if labels.dtype == bool else labels
            yield f"c_{name}_{suffix}", lambda e=estimator, y=labels: to_onnx(clone(e).fit(X, y), X[:1])
    for name, estimator in REGRESSORS.items():
        y = np.stack([TARGET, X[:, 2]], 1) if name == "multi" else TARGET
        yield f"r_{name}", lambda e=estimator, y=y: to_onnx(clone(e).fit(X, y), X[:1])
    for name, estimator in TRANSFORMERS.items():
        yield f"t_{name}", lambda e=estimator: to_onnx(clone(e).fit(X), X[:1])
    yield "t_simple", lambda: to_onnx(impute.SimpleImputer().fit(GAPS), GAPS[:1])
    yield "t_neighbours", lambda: to_onnx(impute.KNNImputer(n_neighbors=3).fit(GAPS), GAPS[:1])
    yield "t_onehot", lambda: to_onnx(preprocessing.OneHotEncoder(handle_unknown="ignore").fit(COUNTS), COUNTS[:1])
    two = [("x", StringTensorType([None, 2]))]
    onehot = preprocessing.OneHotEncoder()
    yield "s_onehot", lambda: to_onnx(onehot.fit(CATEGORIES), initial_types=two)
    yield "s_ordinal", lambda: to_onnx(preprocessing.OrdinalEncoder().fit(CATEGORIES), initial_types=two)
    yield "s_columns", _columns
    yield from _boosters()


def _columns() -> Any:
    """Numbers and categories of a table, prepared one by one."""
    import pandas as pd

    table = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "c": CATEGORIES[:, 0], "d": CATEGORIES[:, 1]})
    numbers, names = preprocessing.StandardScaler(), preprocessing.OneHotEncoder(handle_unknown="ignore")
    prepared = ColumnTransformer([("numbers", numbers, ["a", "b"]), ("names", names, ["c", "d"])])
    fitted = make_pipeline(prepared, tree.DecisionTreeClassifier(max_depth=4)).fit(table, WORDS[Y])
    types = [FloatTensorType([None, 1]), StringTensorType([None, 1])]
    return to_onnx(fitted, initial_types=[(name, types[name in "cd"]) for name in "abcd"])


def _boosters() -> Iterator[tuple[str, Callable[[], Any]]]:
    import lightgbm as lgb
    import xgboost as xgb
    from onnxmltools import convert_lightgbm, convert_xgboost
    from onnxmltools.convert.common.data_types import FloatTensorType as Floats

    light: dict[str, Any] = {"n_estimators": 12, "verbose": -1, "min_child_samples": 5}
    extreme: dict[str, Any] = {"n_estimators": 8, "max_depth": 3}
    sets = X.copy()
    sets[:, 5] = rng.integers(0, 12, len(X))
    cases: dict[str, tuple[Any, Callable[..., Any], Any, Any]] = {
        "lgb2": (lgb.LGBMClassifier(**light), convert_lightgbm, X, Y > 0),
        "lgb3": (lgb.LGBMClassifier(**light), convert_lightgbm, X, Y),
        "lgbs": (lgb.LGBMClassifier(**light), convert_lightgbm, X, WORDS[Y]),
        "lgbr": (lgb.LGBMRegressor(**light), convert_lightgbm, GAPS, TARGET),
        "lgbpoisson": (lgb.LGBMRegressor(objective="poisson", **light), convert_lightgbm, X, np.abs(TARGET)),
        "lgbsets": (lgb.LGBMClassifier(categorical_feature=[5], **light), convert_lightgbm, sets, sets[:, 5] % 3 == 0),
        "xgb2": (xgb.XGBClassifier(**extreme), convert_xgboost, X, Y > 0),
        "xgb3": (xgb.XGBClassifier(**extreme), convert_xgboost, X, Y),
        "xgbr": (xgb.XGBRegressor(**extreme), convert_xgboost, GAPS, TARGET),
        "xgbrf": (xgb.XGBRFRegressor(**extreme), convert_xgboost, X, TARGET),
        "xgbpoisson": (xgb.XGBRegressor(objective="count:poisson", **extreme), convert_xgboost, X, np.abs(TARGET)),
    }
    for name, (model, convert, data, labels) in cases.items():
        labels = labels.astype(int) if labels.dtype == bool else labels
        types = [("x", Floats([None, 6]))]
        yield f"b_{name}", lambda m=model, c=convert, x=data, y=labels, t=types: c(m.fit(x, y), initial_types=t)


def texts() -> Iterator[tuple[str, Any]]:
    """Names and estimators of documents."""
    yield "s_count", CountVectorizer()
    yield "s_tfidf", TfidfVectorizer(ngram_range=(1, 2))
    yield "s_characters", TfidfVectorizer(analyzer="char", ngram_range=(1, 2))
    yield "s_textclf", make_pipeline(TfidfVectorizer(), linear_model.LogisticRegression())


def main(folder: Path, names: list[str]) -> None:
    folder.mkdir(exist_ok=True)
    for name, make in models():
        if not names or name in names:
            try:
                (folder / f"{name}.onnx").write_bytes(make().SerializeToString())
            except Exception as error:  # what the exporter does not take
                print(f"{name}: not exported: {type(error).__name__}: {' '.join(str(error).split())[:100]}")
    for name, estimator in texts():
        if not names or name in names:
            estimator.fit(DOCUMENTS, [0, 1, 0, 1, 1] * 5)
            model = to_onnx(estimator, initial_types=[("x", StringTensorType([None]))])
            (folder / f"{name}.onnx").write_bytes(model.SerializeToString())
            given = DOCUMENTS[:5]
            scores = hasattr(estimator, "predict_proba")
            own = estimator.predict_proba(given) if scores else estimator.transform(given).toarray()
            np.savez(folder / f"{name}.npz", x=np.array(given), own=own)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2:])
