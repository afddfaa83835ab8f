"""The fitter `regression`: coefficients of any formula by statsmodels, nonlinear ones by scipy and then linearized."""

from __future__ import annotations

import functools
import hashlib
import warnings
from array import array
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import msgspec
import numpy as np

import perfcore
from perf_formulas.formula import Formula, ParametricFormula
from perf_regression.options import WEIGHTS, MeasuredOptions, RegressionOptions
from perf_tables.points import describe_outside, named_points
from perfcore.base import pd, progress
from perfcore.base.arrays import Floats
from perfcore.base.errors import DataError, OptionError, UnknownNameError, listing
from perfcore.contracts import Fitter
from perfcore.data.columns import existing_column
from perfcore.data.measurements import Measurements
from perfcore.data.observations import labels_of, numbers_of, values_of, without_duplicates
from perfcore.hooks.options import to_dict
from perfcore.hooks.registry import registry
from perfcore.models.model import Model, Origin, Parameter, Points
from perfcore.models.points import DesignRows, Observed, check_coverage, measurements_for
from perfcore.tables import point_text

_COLLINEAR = 1e-13  # smallest over largest singular value of the terms at unit length
_ILL_CONDITIONED = 1e8
_MOST_STEPS = 100
_ROWS_AT_ONCE = 100_000


@dataclass(frozen=True)
class Estimates:
    """Coefficients as statsmodels estimates them.

    Where terms differ by orders of magnitude, ``results`` are of terms times powers of 2; all else is of the formula.
    """

    results: Any
    params: Floats
    bse: Floats
    tvalues: Floats
    pvalues: Floats
    intervals: Floats  # (k, 2), 95%
    covariance: Floats
    variance: float  # of a run of weight 1
    freedom: float | None  # None for normal distributions

    @functools.cached_property
    def leverage(self) -> Floats:
        """Leverage of each run, in least squares that of its whitened form."""
        model = self.results.model
        if not hasattr(model, "wexog"):
            return np.asarray(self.results.get_hat_matrix_diag(observed=False))
        return np.asarray(np.einsum("ij,ji->i", model.wexog, model.pinv_wexog))

    def studentized(self) -> Floats:
        """Residuals over their standard errors."""
        results = self.results
        residuals = results.wresid if hasattr(results.model, "wexog") else results.resid_pearson
        errors = 1.0 - self.leverage
        errors *= results.scale
        studentized: Floats = np.divide(residuals, np.sqrt(errors, out=errors), out=errors)
        return studentized

    def cooks_distance(self) -> Floats:
        """Cook's distance of each run, without p-values."""
        distance = self.studentized()
        distance *= distance
        distance *= self.leverage / len(self.params)
        distance /= 1.0 - self.leverage
        return distance


def regress(formula: ParametricFormula, group: Group, options: RegressionOptions, at: Floats) -> Estimates:
    """Estimates for a formula linearized at these coefficients."""
    (offset, design), y = formula.at(group.points, at), np.asarray(group.value)
    bad = ~(np.isfinite(offset) & np.isfinite(design).all(axis=1))
    if bad.any():
        place = point_text({name: values[int(np.argmax(bad))] for name, values in group.points.items()})
        raise DataError(f"the formula is not finite at {place}; leave such rows out with --where")
    offset -= design @ at
    rest = np.subtract(y, offset, out=offset)
    triangle = np.linalg.qr(design, mode="r")  # has the lengths and singular values of the design
    lengths = np.linalg.norm(triangle, axis=0)
    _, sizes, directions = np.linalg.svd(triangle / np.where(lengths > 0.0, lengths, 1.0))
    if sizes[-1] <= _COLLINEAR * sizes[0]:
        names = [name for name, part in zip(formula.coefficients, directions[-1], strict=True) if abs(part) > 1e-3]
        raise DataError(f"terms of {', '.join(names)} are collinear; leave one out, or measure at other points")
    # The pseudoinverse of statsmodels drops small directions in silence.
    is_scaled = np.linalg.cond(triangle) > _ILL_CONDITIONED
    scale = np.exp2(np.round(np.log2(lengths))) if is_scaled else np.ones(len(lengths))
    design /= scale
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        results = _results(group, options, y, design, rest)
    if any("onverge" in str(each.message) or "Iteration" in each.category.__name__ for each in caught):
        raise DataError("the regression does not converge; simplify the formula")
    if not np.isfinite([*results.params, *results.bse]).all():
        few = f"{len(y)} runs are too few for standard errors of the {options.quantile} quantile"
        raise DataError(few if options.quantile else "no standard errors; the runs agree with the formula exactly")
    results.model.data.xnames = list(formula.coefficients)  # without a look at all rows for a constant
    is_normal = options.robust is not None
    return Estimates(
        *(results, results.params / scale, results.bse / scale, results.tvalues, results.pvalues),
        *(results.conf_int() / scale[:, None], results.cov_params() / np.outer(scale, scale)),
        float(results.scale ** (2 if is_normal else 1)),
        None if is_normal else float(getattr(results, "df_resid_inference", None) or results.df_resid),
    )


def _results(group: Group, options: RegressionOptions, y: Floats, design: Floats, rest: Floats) -> Any:
    """Return what statsmodels gives for ``y = offset + design @ coefficients``, where ``rest`` is ``y - offset``."""
    if options.robust is not None:
        from statsmodels.robust import norms
        from statsmodels.robust.robust_linear_model import RLM

        norm = {"huber": norms.HuberT, "tukey": norms.TukeyBiweight}[options.robust]
        # Weights have no unit; by default statsmodels compares deviances, and large values would end after 3 steps.
        return RLM(rest, design, M=norm()).fit(conv="weights", tol=1e-10, maxiter=1000)
    if options.quantile is not None:
        from statsmodels.regression.quantile_regression import QuantReg

        return QuantReg(rest, design).fit(q=options.quantile)
    how: dict[str, Any] = {"use_t": True}
    if options.errors != "classical":
        how["cov_type"] = options.errors.partition(":")[0]
        how |= {} if group.clusters is None else {"cov_kwds": {"groups": np.array(group.clusters)}}
    if options.family == "gamma":
        from statsmodels.genmod.families import Gamma, links
        from statsmodels.genmod.generalized_linear_model import GLM

        return GLM(y, design, offset=y - rest, family=Gamma(links.Identity())).fit(**how)
    from scipy.linalg import blas, qr
    from statsmodels.regression.linear_model import OLS, WLS, OLSResults, RegressionResults, RegressionResultsWrapper

    model = OLS(rest, design) if group.weights is None else WLS(rest, design, group.weights)
    # As `fit` does, but by an orthonormal basis, which becomes the pseudoinverse in place: less memory and time.
    basis, triangle = qr(model.wexog, mode="economic", check_finite=False)
    model.pinv_wexog = inverse = blas.dtrsm(1.0, triangle, basis, side=1, trans_a=1, overwrite_b=1).T
    model.rank, model.wexog_singular_values = design.shape[1], np.linalg.svd(triangle, compute_uv=False)
    model.normalized_cov_params = inverse @ inverse.T
    kind = OLSResults if group.weights is None else RegressionResults
    return RegressionResultsWrapper(kind(model, inverse @ model.wendog, model.normalized_cov_params, **how))


def fit_group(formula: ParametricFormula, group: Group, options: RegressionOptions) -> Group:
    """The group with its estimates; errors as of `regress`."""
    start, names = options.starts, formula.coefficients
    if len(group.value) <= len(names):
        raise DataError(f"only {len(group.value)} runs for {len(names)} coefficients; measure more, or leave out terms")
    theta = np.array([start.get(name, 0.0) for name in names])
    if not start:
        return msgspec.structs.replace(group, estimates=tuple(regress(formula, group, options, theta).params.tolist()))
    y, root = np.asarray(group.value), 1.0 if group.weights is None else np.sqrt(group.weights)
    free = np.array([name not in start for name in names])
    value, design = formula.at(group.points, theta)
    theta[free] = np.linalg.lstsq(np.nan_to_num(design[:, free]), np.nan_to_num(y - value), rcond=None)[0]
    from scipy.optimize import least_squares

    def residuals(at: Floats) -> Floats:
        differences = (formula.value_at(group.points, at) - y) * root
        return np.asarray(np.nan_to_num(differences, nan=1e150, posinf=1e150, neginf=-1e150))

    def slopes(at: Floats) -> Floats:
        return np.asarray(np.nan_to_num((formula.at(group.points, at)[1].T * root).T))

    exact = 1e-15
    found = least_squares(
        residuals, theta, slopes, method="lm", x_scale="jac", xtol=exact, ftol=exact, gtol=exact, max_nfev=20_000
    )
    theta = np.asarray(found.x)
    for _ in range(_MOST_STEPS):
        found_now, last = regress(formula, group, options, theta), theta
        theta = found_now.params
        if (np.abs(theta - last) <= 1e-6 * found_now.bse + 1e-10 * np.abs(theta)).all():
            return msgspec.structs.replace(group, estimates=tuple(theta.tolist()))
    raise DataError("no minimum was found from these start values; try others with --start")


class RegressionModel(Model, frozen=True, forbid_unknown_fields=True, dict=True):
    """A formula with its coefficients, for each group of runs."""

    reporter: ClassVar[str] = "perf_regression.answers:report_of"
    kind: ClassVar[str] = "regression"
    options: RegressionOptions
    coefficients: tuple[str, ...]
    functions: tuple[str, ...]
    columns: dict[str, str]
    value_name: str
    value_unit: str | None
    groups: tuple[Group, ...]
    failures: dict[str, str]

    unfitted = property(lambda self: self.failures)
    unit = property(lambda self: self.value_unit)
    variables = property(lambda self: {**self.columns, **{column: column for column in self.options.by}})

    @property
    def is_relative(self) -> bool:
        """Whether errors grow in proportion to the value."""
        return self.options.family == "gamma" or self.options.weights == "relative"

    @functools.cached_property
    def parametric(self) -> ParametricFormula:
        """The formula in variables and coefficients."""
        return ParametricFormula(str(self.options.formula), self.coefficients, self.functions)

    @functools.cached_property
    def estimates(self) -> dict[tuple[str, ...], Estimates]:
        """Return what statsmodels gives for each group; of a nonlinear formula, for its linearization."""
        return {
            g.names: regress(self.parametric, g, self.options, np.array(g.estimates) * bool(self.options.start))
            for g in self.groups
        }

    @property
    def statsmodels(self) -> Any:
        """Results of statsmodels, of several groups by group."""
        results = {names: estimates.results for names, estimates in self.estimates.items()}
        return results if self.options.by else results[()]

    @property
    def levels(self) -> Mapping[str, tuple[str, ...]]:
        return {c: tuple(dict.fromkeys(g.names[k] for g in self.groups)) for k, c in enumerate(self.options.by)}

    @functools.cached_property
    def fitted_points(self) -> dict[str, Any]:
        """Where the runs were made."""
        points: dict[str, Any] = {s: np.concatenate([g.points[s] for g in self.groups]) for s in self.columns}
        names, counts = zip(*((g.names, len(g.value)) for g in self.groups), strict=True)
        return points | {c: np.repeat([n[k] for n in names], counts) for k, c in enumerate(self.options.by)}

    @functools.cached_property
    def ranges(self) -> Mapping[str, tuple[float, float]]:
        return {s: (float(v.min()), float(v.max())) for s, v in self.fitted_points.items() if s in self.columns}

    @property
    def parameters(self) -> tuple[Parameter, ...]:
        return tuple(
            Parameter(f"{name}[{', '.join(g.names)}]" if g.names else name, estimate, float(error))
            for g in self.groups
            for name, estimate, error in zip(self.coefficients, g.estimates, self.estimates[g.names].bse, strict=True)
        )

    def design_rows(self, points: Points) -> DesignRows | None:
        """What further runs are chosen by, of a single group; see `Model.design_rows`."""
        if len(self.groups) > 1 or self.options.quantile is not None:
            return None
        (group,), (found,) = self.groups, self.estimates.values()
        value, design = self.parametric.at(named_points(points, self.columns, {}, signed=True)[0], group.estimates)
        scale = np.abs(value) if self.is_relative else np.ones(len(value))
        measured_value, rows = self.parametric.at(group.points, group.estimates)
        root = 1.0 / np.abs(measured_value) if self.is_relative else np.sqrt(group.weights or np.ones(len(rows)))
        repetitions = np.ones(len(rows), dtype=np.int64)
        asked = (rows * root[:, None],), (design / scale[:, None],)
        return DesignRows(*asked, np.array([[found.variance]]), scale, dict(self.fitted_points), repetitions, self.unit)

    @property
    def statistics(self) -> dict[str, float | int | str | None]:
        if len(self.groups) == 1:
            return dict(self.figures(self.groups[0]))
        return {"n_fits": len(self.groups), "n_runs": sum(len(g.value) for g in self.groups)}

    def figures(self, group: Group) -> dict[str, float | int]:
        """How well a group is fitted; criteria and leave-one-out errors where they are defined."""
        from statsmodels.tools.eval_measures import aicc, bic

        results, y = self.estimates[group.names].results, np.asarray(group.value)
        n, k = len(y), len(self.coefficients)
        residuals = self.parametric.value_at(group.points, group.estimates)
        np.subtract(y, residuals, out=residuals)
        figures: dict[str, float | int] = {"n_runs": n, "n_coefficients": k}
        figures |= {"residual_error": float(np.sqrt(residuals @ residuals / (n - k)))}
        if self.is_relative:
            figures["relative_error"] = float(results.scale**0.5)
        if self.options.quantile is not None:
            return figures | {"pseudo_r2_centered": float(results.prsquared)}
        mean = functools.partial(np.average, weights=group.weights)
        lost = float(mean(residuals**2) / mean((y - mean(y)) ** 2))
        figures |= {"r2_centered": 1.0 - lost, "r2_adjusted_centered": 1.0 - lost * (n - 1) / (n - k)}
        if self.options.robust is not None:
            return figures | {"residual_error": float(results.scale)}
        figures |= {"bic": float(bic(results.llf, n, k)), "aicc": float(aicc(results.llf, n, k))}
        if self.options.family == "gaussian":
            residuals /= 1.0 - self.estimates[group.names].leverage
            figures["leave_one_out_rmse"] = float(np.sqrt(residuals @ residuals / n))
        return {name: figure for name, figure in figures.items() if np.isfinite(figure)}

    @property
    def bounds_meaning(self) -> str:
        if self.options.quantile is not None:
            return f"bounds are a confidence interval of the {self.options.quantile:g} quantile"
        return "" if self.options.weights in WEIGHTS[:2] else "bounds are of a run of median weight"

    def predict_array(self, points: Points, interval: float | None = None) -> Floats:
        """Values with prediction intervals of a single run; of quantiles with their confidence intervals."""
        return self._at(points, interval, of_run=self.options.quantile is None)

    def mean_array(self, points: Points, interval: float) -> Floats:
        """Return values with confidence intervals of the mean."""
        return self._at(points, interval, of_run=False)

    def _at(self, points: Points, interval: float | None, of_run: bool) -> Floats:
        """Return values and bounds; NaN for groups that were not measured."""
        if interval is not None:
            check_coverage(interval)
        places, index = named_points(points, self.columns, self.levels, signed=True)
        names = [np.array(self.levels[column])[index[column]] for column in self.options.by]
        values = np.full((len(next(iter(places.values()))), 3), np.nan)
        for group in self.groups:
            here = np.full(len(values), True)
            for own, name in zip(names, group.names, strict=True):
                here &= own == name
            value, design = self.parametric.at({s: numbers[here] for s, numbers in places.items()}, group.estimates)
            values[here, 0] = value
            if interval is not None:
                values[here, 1:] = self._bounds(group, value, design, 0.5 + 0.5 * interval, of_run)
        return values[:, 0].copy() if interval is None else values

    def _bounds(self, group: Group, value: Floats, design: Floats, level: float, of_run: bool) -> Floats:
        from scipy.stats import gamma, norm, t

        found, is_gamma = self.estimates[group.names], self.options.family == "gamma"
        variance = np.einsum("ni,ij,nj->n", design, found.covariance, design)
        if of_run:
            weight = 1.0 if group.weights is None else float(np.median(group.weights))
            variance += found.variance * (value**2 if self.is_relative else 1.0 / weight)
        if of_run and is_gamma:
            low, high = (gamma.ppf(q, value**2 / variance, scale=variance / value) for q in (1.0 - level, level))
            return np.transpose([np.minimum(low, value), np.maximum(high, value)])
        width = (norm.ppf(level) if found.freedom is None else t.ppf(level, found.freedom)) * np.sqrt(variance)
        return np.transpose([value - width, value + width])

    def remarks(self, points: Points) -> list[str]:
        places, _ = named_points(points, self.columns, self.levels, signed=True)
        return describe_outside(places, self.ranges, self.shown_names)

    def observed(self, data: Any, where: str | None = None) -> Observed:
        runs = measurements_for(self, data, where, {"value": self.value_name, "code": self.options.by, "system": ()})
        seen = runs.observations(duplicates="keep")
        names = {column: names_of(runs, column)[seen.row] for column in self.options.by}
        texts = tuple(seen.describe(number) for number in range(len(seen)))
        return Observed(
            {**seen.points, **names}, texts, seen.value, seen.unit, runs.source, (), np.empty((len(seen), 0))
        )

    def influence(self) -> pd.DataFrame:
        """Each run: fitted value, residual, and where defined leverage, studentized residual and Cook's distance."""
        frames = []
        for g in self.groups:
            found, fitted = self.estimates[g.names], self.parametric.value_at(g.points, g.estimates)
            columns: dict[str, Any] = dict(zip(self.options.by, g.names, strict=True))
            columns |= {name: np.asarray(numbers) for name, numbers in (*g.points.items(), ("value", g.value))}
            columns |= {"fitted": fitted, "residual": columns["value"] - fitted}
            if self.options.robust is None and self.options.quantile is None:
                with np.errstate(all="ignore"):
                    inner, freedom = found.studentized(), found.results.df_resid
                    # Each by the fit without its own run; statsmodels makes these fits one by one.
                    others = (
                        np.sqrt((freedom - 1.0) / (freedom - inner**2)) if self.options.family == "gaussian" else 1.0
                    )
                    columns["studentized"] = inner * others
                    columns |= {"leverage": found.leverage, "cooks_distance": found.cooks_distance()}
            frames.append(pd.DataFrame(columns, copy=False))
        return pd.concat(frames, ignore_index=True) if len(frames) > 1 else frames[0]

    def details(self) -> dict[str, Any]:
        coefficients = self.report().plain_tables[0].records()
        fits = [dict(zip(self.options.by, g.names, strict=True)) | self.figures(g) for g in self.groups]
        return {"coefficients": coefficients, "fits": fits, "runs": self.influence().to_dict("records")}


class RegressionFitter(Fitter):
    """Fits a formula to every run, by least squares or as the options say.

    Choose it when you know the form of the model and want its coefficients with tests; `scaling` looks for the form.

    Examples
    --------
    >>> import pandas as pd
    >>> runs = pd.DataFrame({"p": [1, 2, 4, 8, 16], "time_s": [8.2, 4.4, 2.4, 1.45, 0.93]})
    >>> model = perfcore.fit(runs, fitter="regression", formula="a + b/p")
    >>> model.formula, model.statsmodels.params.round(3).tolist()
    ('time_s = 0.4729 + 7.75/p', [0.473, 7.75])
    """

    Options, model_type, takes = RegressionOptions, RegressionModel, (Measurements,)

    @classmethod
    def suits(cls, data: Any) -> bool:
        return False

    def fit(self, data: Any, options: RegressionOptions, **parts: Any) -> RegressionModel:
        if options.formula is None:
            raise OptionError("regression: the formula is missing; give one, such as --formula 'a + b/p'")
        runs, start = measured(data, options, Formula(options.formula).names), options.starts
        columns, functions, coefficients = _resolve(runs, Formula(options.formula), start)
        formula = ParametricFormula(options.formula, coefficients, functions)
        if nonlinear := formula.nonlinear(fixed=start):
            starts = ",".join(f"{name}=1" for name in nonlinear)
            raise OptionError(
                f"formula {options.formula!r} is not linear in {listing(nonlinear)}; give start values (--start "
                f"{starts}) or correct the name: columns are {listing(runs.table.columns)}"
            )
        for column in (*runs.roles.code, *runs.roles.system):
            if column not in {*options.by, *columns.values()} and len(set(names_of(runs, column))) > 1:
                progress.note(f"one fit for all values of {column}; --by {column} fits each separately")
        runs = runs.with_roles(parameters=columns, code=(), system=(), category=())
        groups, failures = [], {}
        for group in [*groups_of(runs, options)]:
            try:
                groups.append(fit_group(formula, group, options))
            except DataError as error:
                failures[", ".join(map("=".join, zip(options.by, group.names, strict=True)))] = str(error)
        if not groups:
            raise DataError(": ".join([runs.source, *filter(None, next(iter(failures.items())))]))
        names = coefficients, functions, columns, str(runs.roles.value), runs.roles.unit
        return RegressionModel(origin_of("regression", options, runs), options, *names, tuple(groups), failures)


def origin_of(fitter: str, options: Any, runs: Measurements) -> Origin:
    """Where a model comes from."""
    digest = hashlib.sha256()
    for first in range(0, len(runs.table), _ROWS_AT_ONCE):
        digest.update(runs.table[first : first + _ROWS_AT_ONCE].to_csv(index=False, header=first == 0).encode())
    return Origin(fitter, to_dict(options), runs.source, f"sha256:{digest.hexdigest()}", perfcore.__version__)


def _resolve(
    runs: Measurements, formula: Formula, start: Collection[str]
) -> tuple[dict[str, str], tuple[str, ...], tuple[str, ...]]:
    """What the names of a formula are: columns by symbol, registered functions, and coefficients."""
    known = {column: column for column in runs.table.columns} | dict(runs.roles.parameters)
    registered = registry().entries("functions")
    functions = tuple(n for n in formula.names if n in registered and n not in known and n not in start)
    needed = [variable for name in functions for variable in registered[name].load().variables]
    columns = {name: known[name] for name in (*formula.names, *needed) if name in known and name not in start}
    coefficients = tuple(name for name in formula.names if name not in columns and name not in functions)
    for kind, names, accepted in (("variable of a function", needed, columns), ("coefficient", start, coefficients)):
        if unknown := [name for name in names if name not in accepted]:
            raise UnknownNameError(kind, unknown[0], known if kind.startswith("v") else coefficients)
    if runs.roles.value in columns.values():
        raise OptionError(f"formula {formula.text!r}: {runs.roles.value} is the value; --value names another column")
    if not coefficients or not columns:
        missing = "column" if coefficients else "coefficient, a name that no column has"
        raise OptionError(f"formula {formula.text!r} has no {missing}; columns are {listing(known)}")
    return columns, functions, coefficients


class Group(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Runs that have coefficients of their own: names by column of ``--by``, points by variable."""

    names: tuple[str, ...]
    points: dict[str, array]  # type: ignore[type-arg]  # Python 3.11 takes none
    value: array  # type: ignore[type-arg]
    weights: tuple[float, ...] | None = None
    clusters: tuple[int, ...] | None = None
    estimates: tuple[float, ...] = ()


def measured(data: Measurements, options: MeasuredOptions, used: Collection[str] = ()) -> Measurements:
    """The rows that count, with the roles that the options give; the value may be the one column that is left."""
    runs = data.with_roles(parameters=options.parameter, value=options.value, unit=options.unit)
    runs = runs.where(options.where) if options.where else runs
    if runs.roles.value is None:
        numbers = [str(name) for name in runs.table.select_dtypes("number").columns]
        left = [name for name in numbers if name not in {*used, *runs.roles.parameters.values()}]
        if len(left) != 1:
            raise OptionError(f"{runs.source}: which column was measured? Give --value COLUMN, of {listing(numbers)}")
        runs = runs.with_roles(value=left[0])
    return runs


def groups_of(runs: Measurements, options: RegressionOptions) -> Iterator[Group]:
    """The runs of each group, with their weights and clusters; rows without a value are left out."""
    runs.require_roles()
    columns = list(runs.table.columns)
    is_positive = options.family == "gamma" or options.weights == "relative"
    anything = not is_positive
    y = values_of(runs, notes := list[str](), zeros=anything, signed=anything, minus_one=is_positive, points=False)
    kept = ~np.isnan(y)
    kept &= without_duplicates(runs, kept, notes=notes)
    for note in notes:
        progress.note(f"{runs.source}: {note}")
    points = {s: numbers_of(runs, c, kept, signed=True) for s, c in runs.roles.parameters.items()}
    names = pd.DataFrame({c: names_of(runs, existing_column(c, columns)) for c in options.by}, index=range(len(y)))
    weights: Any = None
    clusters: Any = None
    if options.weights == "relative":
        weights = y**-2
    elif options.weights == "1/variance":
        keys = [*map(names.get, names), *points.values()]
        weights = 1.0 / pd.Series(y).where(kept).groupby(keys).transform("var")
        if not (weights[kept] < np.inf).all():
            raise DataError(f"{runs.source}: --weights 1/variance needs runs of different values at every point")
    elif options.weights != "equal":
        weights = numbers_of(runs, existing_column(options.weights, columns), kept)
    if options.errors.startswith("cluster:"):
        column = existing_column(options.errors.partition(":")[2], columns)
        clusters = pd.factorize(names_of(runs, column))[0]
    names = names[kept]
    for group, part in names.groupby(list(options.by)) if options.by else [((), names)]:
        rows = part.index
        further: list[Any] = [None if each is None else tuple(each[rows].tolist()) for each in (weights, clusters)]
        numbers = {symbol: array("d", column[rows].tobytes()) for symbol, column in points.items()}
        yield Group(tuple(map(str, group)), numbers, array("d", y[rows].tobytes()), *further)


def names_of(runs: Measurements, column: str) -> Any:
    """Texts of a column, one for each row."""
    everything = np.ones(len(runs.table), dtype=np.bool_)
    names, index = labels_of(runs.with_roles(code=(column,), system=(), category=()), "code", everything)
    return np.array(names)[index]
