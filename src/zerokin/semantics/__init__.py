"""Class names and texts become one matrix of class vectors; every method sees its unit rows."""

from zerokin.semantics.clip_text import class_prompts, clip_text_vectors
from zerokin.semantics.definitions import wordnet_definitions
from zerokin.semantics.normalize import unit_rows
from zerokin.semantics.sentences import class_texts, sentence_vectors
from zerokin.semantics.skipgram import train_skipgram
from zerokin.semantics.tables import vector_table, write_vector_table
from zerokin.semantics.taxonomy_vectors import taxonomy_vectors
from zerokin.semantics.word_vectors import word_vectors

__all__ = [
    "class_prompts",
    "class_texts",
    "clip_text_vectors",
    "sentence_vectors",
    "taxonomy_vectors",
    "train_skipgram",
    "unit_rows",
    "vector_table",
    "word_vectors",
    "wordnet_definitions",
    "write_vector_table",
]
