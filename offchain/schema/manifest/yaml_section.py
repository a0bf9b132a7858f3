"""A YAML file with one section, as operators write them for a scheduler: the section's entries, or what is wrong."""

from __future__ import annotations

import yaml

from offchain.schema.manifest.nodes import Field, Reader
from offchain.schema.manifest.types import Problem
from offchain.schema.manifest.yaml_bounded import OPERATOR_MAX, compose


def section(text: str, key: str, example: str, reader: Reader) -> dict[str, Field]:
    """The entries of the section `key`, the only one. Problems are noted in `reader`; `example` names a whole file."""
    try:
        node = compose(text, bound=OPERATOR_MAX)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        about = ", ".join(part for part in (error.problem, error.context) if part)
        line = mark.line + 1 if mark else 1
        reader.problems.append(Problem(line, "", f"this is not YAML: {about}", "Mend the line"))
        return {}
    except yaml.YAMLError as error:
        about = " ".join(str(error).split())
        reader.problems.append(Problem(1, "", f"this is not YAML: {about}", "Mend the file"))
        return {}
    if node is None:
        reader.problems.append(Problem(1, "", "the file is empty", f"Start from {example}"))
        return {}
    top = reader.mapping(Field(node, node.start_mark.line + 1, ""), (key,), {})
    if key not in top:
        if not reader.problems:
            reader.problems.append(Problem(1, key, "the section is missing", f"Start from {example}"))
        return {}
    return reader.any_mapping(top[key])
