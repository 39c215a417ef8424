"""Which resources, prompts and completions does the suite ask for?

Source: contract mcp_conformance, section 3; the texts are those that the suite's own scenarios describe.
"""

from __future__ import annotations

import re
from collections.abc import Mapping

import mcp_types as types

from lasttick.reference.conformance.content import PNG
from lasttick.reference.conformance.tools import embedded, image, text

TEMPLATE = "test://template/{id}/data"
IN_TEMPLATE = re.compile(r"test://template/([^/]+)/data")
ASKING_PROMPT = "test_input_required_result_prompt"

RESOURCES = [
    types.Resource(uri="test://static-text", name="static-text", description="A text.", mime_type="text/plain"),
    types.Resource(uri="test://static-binary", name="static-binary", description="An image.", mime_type="image/png"),
    types.Resource(uri="test://watched-resource", name="watched", description="One to watch.", mime_type="text/plain"),
]
TEMPLATES = [
    types.ResourceTemplate(
        uri_template=TEMPLATE, name="template", description="Data by its id.", mime_type="application/json"
    )
]


def _prompt(name: str, description: str, *arguments: str) -> types.Prompt:
    listed = [types.PromptArgument(name=one, description=f"The {one}.", required=True) for one in arguments]
    return types.Prompt(name=name, description=description, arguments=listed)


PROMPTS = [
    _prompt("test_simple_prompt", "A prompt without arguments."),
    _prompt("test_prompt_with_arguments", "A prompt with two arguments.", "arg1", "arg2"),
    _prompt("test_prompt_with_embedded_resource", "A prompt with a resource inside.", "resourceUri"),
    _prompt("test_prompt_with_image", "A prompt with an image."),
    _prompt(ASKING_PROMPT, "A prompt that asks for its context."),
]


def resource(uri: str) -> types.TextResourceContents | types.BlobResourceContents | None:
    """What is at `uri`; None when nothing is."""
    if uri == "test://static-text":
        shown = "This is the content of the static text resource."
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text=shown)
    if uri == "test://static-binary":
        return types.BlobResourceContents(uri=uri, mime_type="image/png", blob=PNG)
    if uri == "test://watched-resource":
        return types.TextResourceContents(uri=uri, mime_type="text/plain", text="Nothing has changed here.")
    if found := IN_TEMPLATE.fullmatch(uri):
        id_ = found[1]
        shown = f'{{"id":"{id_}","templateTest":true,"data":"Data for ID: {id_}"}}'
        return types.TextResourceContents(uri=uri, mime_type="application/json", text=shown)
    return None


def prompt(name: str, arguments: Mapping[str, str]) -> types.GetPromptResult | None:
    """The prompt of that name, filled in; None when there is none."""
    if name == "test_simple_prompt":
        return _said(text("This is a simple prompt for testing."))
    if name == "test_prompt_with_arguments":
        one, two = arguments.get("arg1", ""), arguments.get("arg2", "")
        return _said(text(f"Prompt with arguments: arg1='{one}', arg2='{two}'"))
    if name == "test_prompt_with_embedded_resource":
        inner = embedded(arguments.get("resourceUri", ""), "text/plain", "Embedded resource content for testing.")
        return _said(inner, text("Please process the embedded resource above."))
    if name == "test_prompt_with_image":
        return _said(image(), text("Please analyze the image above."))
    return None


def completion(params: types.CompleteRequestParams) -> types.CompleteResult:
    """What an argument may begin with."""
    words = ["paris", "park", "party"] if getattr(params.ref, "name", "") == "test_prompt_with_arguments" else []
    values = [word for word in words if word.startswith(params.argument.value)]
    return types.CompleteResult(completion=types.Completion(values=values, total=len(values), has_more=False))


def _said(*contents: types.ContentBlock) -> types.GetPromptResult:
    return types.GetPromptResult(messages=[types.PromptMessage(role="user", content=one) for one in contents])
