"""NIST's Statistical Reference Datasets of nonlinear regression: formulas, starts, certified values and data."""

import re
from pathlib import Path
from types import SimpleNamespace

import numpy as np

FOLDER = Path(__file__).parent / "least_squares" / "nist"
EXPONENTIALS = "b1*exp(-b2*x1) + b3*exp(-b4*x1) + b5*exp(-b6*x1)"
RATIONAL = "(b1 + b2*x1 + b3*x1^2 + b4*x1^3)/(1 + b5*x1 + b6*x1^2 + b7*x1^3)"
NONLINEAR = {
    "Misra1a": "b1*(1 - exp(-b2*x1))", "Chwirut2": "exp(-b1*x1)/(b2 + b3*x1)", "Lanczos1": EXPONENTIALS,
    "Lanczos3": EXPONENTIALS,
    "Gauss1": "b1*exp(-b2*x1) + b3*exp(-(x1 - b4)^2/b5^2) + b6*exp(-(x1 - b7)^2/b8^2)",
    "DanWood": "b1*x1^b2", "Kirby2": "(b1 + b2*x1 + b3*x1^2)/(1 + b4*x1 + b5*x1^2)", "Hahn1": RATIONAL,
    "Thurber": RATIONAL, "Nelson": "b1 - b2*x1*exp(-b3*x2)", "MGH17": "b1 + b2*exp(-x1*b4) + b3*exp(-x1*b5)",
    "MGH09": "b1*(x1^2 + x1*b2)/(x1^2 + x1*b3 + b4)", "MGH10": "b1*exp(b2/(x1 + b3))",
    "BoxBOD": "b1*(1 - exp(-b2*x1))", "Rat42": "b1/(1 + exp(b2 - b3*x1))", "Rat43": "b1/(1 + exp(b2 - b3*x1))^(1/b4)",
    "Eckerle4": "b1/b2*exp(-0.5*((x1 - b3)/b2)^2)", "Bennett5": "b1*(b2 + x1)^(-1/b3)",
}  # fmt: skip
OTHERS = {  # with functions that formulas do not have
    "Roszman1": "b1 - b2*x1 - arctan(b3/(x1 - b4))/pi",
    "ENSO": "b1 + b2*cos(2*pi*x1/12) + b3*sin(2*pi*x1/12) + b5*cos(2*pi*x1/b4) + b6*sin(2*pi*x1/b4)"
    " + b8*cos(2*pi*x1/b7) + b9*sin(2*pi*x1/b7)",
}


def read(name):
    """A problem from NIST's file: starts (2, P), certified values, y and columns x."""
    lines = (FOLDER / "nonlinear" / f"{name}.dat").read_text().splitlines()
    number = r"[-+]?[\d.]+(?:[eE][-+]?\d+)?"
    rows = [re.findall(number, line.split("=")[1]) for line in lines if re.match(r"\s*b\d+ =.*", line)]
    values = np.array(rows, dtype=float)
    squares = next(line for line in lines if line.startswith("Residual Sum of Squares"))
    begin = int(next(re.findall(r"\d+", line)[0] for line in lines if line.strip().startswith("Data   ")))
    y, *x = np.array([line.split() for line in lines[begin - 1 :] if line.strip()], dtype=float).T
    return SimpleNamespace(
        starts=values[:, :2].T, parameters=values[:, 2], deviations=values[:, 3], squares=float(squares.split(":")[1]),
        x={f"x{k}": column for k, column in enumerate(x, 1)}, y=np.log(y) if name == "Nelson" else y,
    )  # fmt: skip
