"""Turns the mathematics of docstrings, which are plain text, into formulas for the site.

A docstring says ``r^_i = 1 + sum_{j != i} G_alpha(s_i - s_j)``. `typeset` finds the formulas in
such a line and writes each as a ``:math:`` role with LaTeX; the rest stays text. `section` lays out
a whole section: prose as paragraphs, lines of formulas as lines.
"""

import re

GREEK = {
    "alpha", "beta", "gamma", "delta", "epsilon", "sigma", "tau", "rho", "phi", "Phi", "pi",
    "lambda",
}  # fmt: skip
FUNCTIONS = {
    "exp": r"\exp", "ln": r"\ln", "log": r"\log", "log2": r"\log_2", "max": r"\max", "min": r"\min",
    "erfc": r"\operatorname{erfc}", "diag": r"\operatorname{diag}",
}  # fmt: skip
# Words that stand for a quantity where an operator or a bracket is next to them.
WORDS = {"loss", "grad", "hess", "rank", "margin", "decay", "noise", "order", "mean", "START"}
WORDS |= {"measure", "step", "BAND"}
OPERATORS = {
    "<=": r"\le ", ">=": r"\ge ", "!=": r"\ne ", "<-": r"\leftarrow ", "->": r"\to ",
    "+=": r"\text{ += }", "-=": r"\text{ -= }", "=": "= ", "<": "< ", ">": "> ", "~": r"\sim ",
}  # fmt: skip
TOKEN = re.compile(
    r"""\s+ | <=|>=|!=|<-|->|\+=|-=|\.\.\.?(?!\.) | [=<>~+\-*/^_'(){}\[\]|,]
    | \d*\.?\d+(?:e-?\d+)?(?![A-Za-z]) | log2 | [A-Za-z]+ | .""",
    re.VERBOSE | re.DOTALL,
)


class NoFormulaError(Exception):
    """What follows is not a formula."""


class Formula:
    """One formula, read from `tokens`, starting at `at`, as far as it goes."""

    def __init__(self, tokens, at):
        self.tokens, self.at, self.strong = tokens, at, False
        # How many brackets, absolute values, and indices or powers are open.
        self.depth = self.bars = self.small = 0

    def peek(self, ahead=0):
        """Return a token without taking it."""
        at = self.at + ahead
        return self.tokens[at] if at < len(self.tokens) else ""

    def skip(self):
        """Take white space."""
        while self.peek().isspace():
            self.at += 1

    def take(self, token):
        """Take a token that must be there."""
        if self.peek() != token:
            raise NoFormulaError
        self.at += 1

    def attempt(self, rule):
        """Apply a rule; if it fails, go back to where it began."""
        before = self.at, self.strong, self.depth, self.bars, self.small
        try:
            return rule()
        except NoFormulaError:
            self.at, self.strong, self.depth, self.bars, self.small = before
            return None

    def relation(self):
        """Read ``a <= b < c``."""
        text = self.sum()
        while (more := self.attempt(self._related)) is not None:
            text += more
        return text

    def _related(self):
        self.skip()
        if self.peek() == "in" and self.peek(2) == "[":
            self.at += 1
            self.skip()
            return r" \in " + self.bracket()
        if self.peek() not in OPERATORS:
            raise NoFormulaError
        operator = self.peek()
        self.at += 1
        self.skip()
        right = self.sum()
        self.strong = True
        return f" {OPERATORS[operator]}{right}"

    def sum(self):
        """Read ``- a + b``, and the ellipsis of ``1..M``."""
        self.skip()
        text = ""
        if self.peek() in ("-", "+"):
            text = self.peek()
            self.at += 1
            self.skip()
        text += self.product()
        while (more := self.attempt(self._added)) is not None:
            text += more
        return text

    def _added(self):
        self.skip()
        sign = self.peek()
        if sign not in ("+", "-", ".."):
            raise NoFormulaError
        spaced = self.peek(1).isspace()
        if sign != ".." and not spaced and self.tokens[self.at - 1].isspace():
            raise NoFormulaError  # "x -y" is a dash
        self.at += 1
        self.skip()
        right = self.product()
        self.strong = True
        return rf" \ldots {right}" if sign == ".." else f" {sign} {right}"

    def product(self):
        """Read ``a b / c``: adjacent factors, each over what follows its slash."""
        bare = self.peek() in WORDS - {"mean"} and self.peek(1) not in ("_", "^", "'", "(")
        text = self.ratio()
        if bare and not self.depth:  # "rank j"
            return text
        while (more := self.attempt(self._times)) is not None:
            text += more
        return text

    def _times(self):
        self.skip()
        first = self.peek()
        if first == "a" and self.peek(1) not in ("_", "(") and not self.depth:  # the article
            raise NoFormulaError
        if first == "(" and re.fullmatch(r"\d+", self.peek(1)) and self.peek(2) == ")":
            raise NoFormulaError  # the number of an equation
        if first in WORDS and self.peek(1) not in ("_", "^") and not self.depth:
            raise NoFormulaError
        if first == "|" and self.bars:
            raise NoFormulaError
        if first == "*":
            self.at += 1
            self.skip()
        return rf"\, {self.ratio()}"

    def ratio(self):
        """Read ``a / b`` as a fraction."""
        above, inside = self.factor()
        while (below := self.attempt(self._below)) is not None:
            if self.small:
                above = inside = f"{above}/{below[0]}"
            else:
                above = inside = rf"\frac{{{inside}}}{{{below[1]}}}"
        return above

    def _below(self):
        self.skip()
        self.take("/")
        self.skip()
        self.strong = True
        return (self.product(),) * 2 if self.peek() == "sum" else self.factor()

    def bracket(self):
        """Read ``(a, b)`` or ``[a]``, and return it with its brackets."""
        opening = self.peek()
        closing = {"(": ")", "[": "]", "{": "}"}.get(opening)
        if closing is None:
            raise NoFormulaError
        self.at += 1
        self.depth += 1
        text = self.relation()
        self.skip()
        while self.peek() == ",":
            self.at += 1
            text += ", " + self.relation()
            self.skip()
        self.take(closing)
        self.depth -= 1
        return text if opening == "{" else rf"{opening}{text}{closing}"

    def factor(self):
        """Read a factor with its index and power; return it with and without an outer bracket."""
        token = self.peek()
        if token in ("(", "["):
            if self.peek(1).isdigit() and self.peek(2) == ")":
                raise NoFormulaError  # the number of an equation
            text = self.bracket()
            inside = text[1:-1]
            if re.fullmatch(
                r"\\frac{[^{}]*(?:{[^{}]*}[^{}]*)*}{[^{}]*(?:{[^{}]*}[^{}]*)*}", inside
            ):
                text = inside if self.peek() not in ("^", "'") else text
        elif self.tokens[self.at : self.at + 8] == [*"d", " ", "loss", " ", "/", " ", "d", " "]:
            self.at += 8
            self.strong = True
            inside = text = (
                rf"\frac{{\partial\,\mathrm{{loss}}}}{{\partial {self._name(self.peek())}}}"
            )
        elif token == "integral":
            inside = text = self._integral()
        elif token == "|":
            self.at += 1
            self.bars += 1
            self.depth += 1
            inside = text = f"|{self.relation()}|"
            self.take("|")
            self.bars -= 1
            self.depth -= 1
            self.strong = True
        elif token in ("sum", "max", "min") and self.peek(1) in ("_", " "):
            inside = text = self._large(token)
        elif token == "sqrt" and self.peek(1) == "(":
            self.at += 1
            inside = text = rf"\sqrt{{{self.bracket()[1:-1]}}}"
            self.strong = True
        elif token in FUNCTIONS:
            self.at += 1
            self.skip()
            argument = self.bracket() if self.peek() in ("(", "[") else self.factor()[0]
            inside = text = f"{FUNCTIONS[token]} {argument}"
            self.strong = True
        else:
            inside = text = self._name(token)
        powers = self._scripts()
        return (text + powers, text + powers) if powers else (text, inside)

    def _large(self, token):
        """Read a sum or maximum with its range below it."""
        self.at += 1
        self.strong = True
        if self.peek() == "_":
            below = self._scripts()
            self.skip()
            if self.peek() == "-":
                self.at += 1
                self.skip()
                below += " -"
            return rf"\{token}{below} {self.product()}"
        self.skip()
        if token == "sum" and re.fullmatch("[b-z]", self.peek()):
            return rf"\sum {self.product()}"
        self.take("over")
        self.skip()
        if self.peek() in ("pairs", "all"):
            self.at += 1
        below = self.relation()
        self.skip()
        self.take("of")
        self.skip()
        return rf"\{token}_{{{below}}} {self.product()}"

    def _integral(self):
        """Read ``integral of W from 0 to r``."""
        found = []
        for word in ("integral", "of", "from", "to"):
            self.skip()
            self.take(word)
            self.skip()
            if word != "integral":
                found.append(self.factor()[0])
        self.strong = True
        return rf"\int_{{{found[1]}}}^{{{found[2]}}} {found[0]}"

    def _name(self, token):
        """Read a number, a letter, a Greek name, or a function applied to something."""
        following = self.peek(1)
        if re.fullmatch(r"\d*\.?\d+(e-?\d+)?", token):
            self.at += 1
            if "e" in token:
                return rf"{token.partition('e')[0]} \cdot 10^{{{token.partition('e')[2]}}}"
            if token == "1" and following == "(":  # an indicator
                return rf"\mathbf{{1}}{self.bracket()}"
            return token
        if token == "...":
            name = r"\ldots "
        elif token in GREEK:
            self.strong = True
            name = f"\\{token} "
        elif len(token) == 1 and token.isalpha():
            self.strong |= token not in "aAI" or following in ("_", "^", "'", "(")
            name = token
        elif token.startswith("d") and following in ("_", "^", "/") and self._is_name(token[1:]):
            self.strong = True
            name = r"\mathrm{d}" + (f"\\{token[1:]} " if token[1:] in GREEK else token[1:])
        elif token in WORDS or (token.isalpha() and len(token) <= 5 and following == "_"):
            if following == "_" and len(self.peek(2)) > 2 and self.peek(2) not in GREEK:
                raise NoFormulaError  # a name in Python
            self.strong |= following == "_"
            name = rf"\mathrm{{{token}}}"
        else:
            raise NoFormulaError
        self.at += 1
        name += self._scripts(hats=True)
        if self.peek() == "*" and not self.peek(1).isalnum():
            self.at += 1
            name += "^{*}"
        if self.peek() == "(" and (applied := self.attempt(self.bracket)) is not None:
            name += applied
            self.strong = True
        return name

    @staticmethod
    def _is_name(text):
        return len(text) == 1 or text in GREEK

    def _scripts(self, hats=False):
        """Read primes, an index and a power; a power that is empty is a hat over the name."""
        below = above = ""
        while self.peek() in ("_", "^", "'"):
            mark = self.peek()
            if mark == "'" and self.peek(1).isalpha():  # "R's"
                break
            self.at += 1
            if mark == "'":
                above += "'"
            elif mark == "^" and hats and not re.match(r"[\w{(]", self.peek().replace("_", "-")):
                above += "HAT"
            else:
                text = self._script()
                if mark == "_":
                    below = text
                else:
                    above = f"{above}^{{{text}}}" if above else f"^{{{text}}}"
            self.strong = True
        if "HAT" in above:
            raise_to = above.replace("HAT", "")
            return f"\0_{{{below}}}{raise_to}" if below else f"\0{raise_to}"
        return (f"_{{{below}}}" if below else "") + above

    def _script(self):
        self.small += 1
        text = self._index()
        self.small -= 1
        return text

    def _index(self):
        token = self.peek()
        if token in ("{", "("):
            text = self.bracket()
            return text[1:-1] if token == "(" else text
        if token == "-" and self.peek(1).isdigit():
            self.at += 2
            return f"-{self.tokens[self.at - 1]}"
        if not re.fullmatch(r"[A-Za-z]+|\d+", token):
            raise NoFormulaError
        self.at += 1
        if token in GREEK:
            return f"\\{token} "
        return token if len(token) <= 2 or token.isdigit() else rf"\mathrm{{{token}}}"


def latex(formula):
    """Move hats to where they belong: after the name, before its index."""
    return re.sub(r"(\\[A-Za-z]+ |[A-Za-z])\0", r"\\hat{\1}", formula)


def pieces(text):
    """Yield pairs of text and the formula after it; the last formula is None."""
    plain = ""
    for part in re.split(r"(``.+?``|`.+?`)", text, flags=re.DOTALL):
        if part.startswith("`"):
            plain += part
            continue
        tokens, at = TOKEN.findall(part), 0
        while at < len(tokens):
            after_word = at > 0 and (tokens[at - 1].isalnum() or tokens[at - 1] in "-'._@/")
            found = None
            the_sum = tokens[at] == "sum" and re.search(r"\bthe $", plain)
            if not (after_word or the_sum or tokens[at].isspace() or tokens[at] == "="):
                formula = Formula(tokens, at)
                found = formula.attempt(formula.relation)
            joined = found is not None and (
                formula.peek() == "&"
                or (
                    formula.peek() == "-" and formula.peek(1).isalpha() and len(formula.peek(1)) > 2
                )
            )
            if found is None or not formula.strong or joined:
                plain += tokens[at]
                at += 1
                continue
            yield plain, latex(found)
            plain, at = "", formula.at
    yield plain, None


def escaped(text):
    """Escape what Sphinx would read as markup, except for names in backticks."""
    parts = re.split(r"(`.+?`|(?<!\w)\*\w[^*]*\*)", text, flags=re.DOTALL)
    parts[::2] = (re.sub(r"([|@*_])", r"\\\1", part) for part in parts[::2])
    return "".join(parts)


def typeset(text, large=False):
    """Return a line with its formulas as ``:math:`` roles."""
    style = r"\displaystyle " if large else ""
    out = ""
    for plain, formula in pieces(text):
        out += escaped(plain)
        if formula is not None:
            out += rf"\ :math:`{style}{formula.strip()}`\ "
    return out


# ---- sections ------------------------------------------------------------------------------------

NUMBER = re.compile(r"\s{2,}(\(\w+\).*)$")  # of an equation
LABEL = re.compile(r"([a-z][a-z0-9-]*)\s{2,}(?=[^\s=])")
OWN = re.compile(r"\S+(\s\S+)?\s+(=|<-)\s")


def lines_of(block):
    """Yield indent, label and text of each line, with wrapped lines joined."""
    physical = block.split("\n")
    if not any(NUMBER.search(x) or LABEL.match(x) or OWN.match(x) for x in physical):
        return [[0, "", " ".join(x.strip() for x in physical)]]
    done, before = [], ""
    for line in physical:
        indent, text = len(line) - len(line.lstrip()), line.strip()
        full = len(before) + 5 + len(text.split()[0]) > 92
        if done:
            last = done[-1]
            wrapped = full and not NUMBER.search(before)
            hanging = indent > last[0] and (
                last[1]
                or not (
                    re.search(r"\S\s{3,}\S", before.strip())
                    or LABEL.match(text)
                    or OWN.match(text)
                    or text.startswith("=")
                )
            )
            if hanging or (
                wrapped and indent >= last[0] and not (LABEL.match(text) or OWN.match(text))
            ):
                last[2] += f" {text}"
                before = line
                continue
        label = LABEL.match(text)
        done.append([indent, label[1] if label else "", text[label.end() :] if label else text])
        before = line
    return done


def block_of(block):
    """Lay out one block: a paragraph, or lines."""
    lines = lines_of(block)
    if len(lines) == 1 and not lines[0][1] and not NUMBER.search(lines[0][2]):
        return typeset(lines[0][2], large=bool(OWN.match(lines[0][2]))) + "\n"
    out = ""
    for indent, label, text in lines:
        text, number = NUMBER.sub("", text), NUMBER.search(text)
        made = typeset(re.sub(r"\s+", " ", text), large=True)
        made = f"**{label}** {made}" if label else made
        made += f" :eqno:`{number[1]}`" if number else ""
        out += f"| {' ' * indent}{made}\n"
    return out


def section(body):
    """Lay out a section of a docstring, block by block."""
    out = ""
    for block in re.split(r"\n\s*\n|\n(?=- )", body):
        bullet = "- " if block.startswith("- ") else ""
        out += bullet + block_of(block.removeprefix("- ")) + "\n"
    return out
