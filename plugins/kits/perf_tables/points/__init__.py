"""Points of models as a user gives them: places such as ``p=64..1024``, and columns by the model's variables."""
