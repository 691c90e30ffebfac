"""What is said where a package is missing that only some functions need."""

#: What the command line needs: the packages of the extra `cli`.
CLI = "typer rich jinja2 scikit-learn scipy matplotlib"
#: What CSV and parquet need: those of the extra `tables`.
TABLES = "pandas pyarrow"


def needs(what: str, packages: str, error: ImportError) -> ImportError:
    """Return the error that says how to install what is missing.

    Parameters
    ----------
    what : str
        Who needs it: "figures need Matplotlib".
    packages : str
        What to install. Not an extra of boostrank: a checkout or a wheel cannot be named so.
    error : ImportError
        What Python said.

    Returns
    -------
    ImportError
    """
    return ImportError(f"{what}: pip install {packages} ({error})")
