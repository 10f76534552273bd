"""A result document."""

class Document:
    """A result document, and what sentences are about."""

    def __init__(self, data):
        self.data = data
        self.steps = data["steps"]
        self.modes = list(dict.fromkeys(step.get("mode") for step in self.steps))

    def mode(self, name):
        if name is None:
            return self.modes[0] if len(self.modes) == 1 else None
        return name if name in self.modes else None

    def of_mode(self, mode):
        return [step for step in self.steps if step.get("mode") == mode]

    def figures(self, mode):
        own = [f for f in self.data["figures"] if f.get("mode") == mode]
        return own + [f for step in self.of_mode(mode) for f in step["figures"]]

    def figure(self, ending, mode):
        return next((f["value"] for f in self.figures(mode) if f["id"].endswith("." + ending)), None)

    def peak(self, name, mode):
        values = [v for step in self.of_mode(mode) for s in step["series"] if s["name"] == name for v in s["v"]]
        return max((v for v in values if v is not None), default=None)
