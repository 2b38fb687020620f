"""The description fits what the service does."""

from trelliswork.plots.drawing import document, drawing_files


def test_every_path_is_described(service):
    described = service.ask("GET", "/openapi.json").json()
    assert described["openapi"].startswith("3.1")
    for path, operations in described["paths"].items():
        for method in operations:
            answer = service.ask(method.upper(), path.replace("{name}", "names"))
            assert answer.status_code not in (404, 405), path
    fields = described["paths"]["/models/{name}/predict"]["post"]["requestBody"]
    schema = fields["content"]["application/json"]["schema"]
    assert {"input", "inputs", "k", "known", "marginals", "mea", "why"} <= set(schema["properties"])


def test_pages_without_a_server_hold_all_they_need():
    modules = [name.removesuffix(".js") for name in drawing_files() if name.endswith(".js")]
    ordered = ["dom", *sorted(set(modules) - {"dom"})]
    page = document("<b>", "<p>", modules=ordered, script="drawChain(data)", data={"x": "</script><script>"})
    assert "import " not in page.split("<script", 1)[1].split("const data")[0]
    assert page.count("</script>") == 1
    assert "<title>&lt;b&gt;</title>" in page
