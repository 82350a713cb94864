"""Quick products: as exact as float32 is, and a setting that does not outlive them."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from zerokin.compute.products import quick_products


@pytest.mark.parametrize("before", ["highest", "high"])
def test_precision_is_what_it_was_even_after_an_error(before):
    usual = torch.get_float32_matmul_precision()
    torch.set_float32_matmul_precision(before)
    try:
        with pytest.raises(RuntimeError, match="shapes"), quick_products():
            torch.ones(2, 3) @ torch.ones(2, 3)
        assert torch.get_float32_matmul_precision() == before
    finally:
        torch.set_float32_matmul_precision(usual)


@pytest.mark.parametrize("shape", [(3, 5, 7), (129, 1283, 101)])
def test_products_are_numpys(shape):
    rng = np.random.default_rng(sum(shape))
    n, k, m = shape
    A, B = rng.normal(size=(n, k)), rng.normal(size=(k, m))
    with quick_products():
        found = torch.from_numpy(A).float() @ torch.from_numpy(B).float()
    # bfloat16 has eight bits: where factors are rounded to it, a product of k errs by √k of them.
    np.testing.assert_allclose(found.numpy(), A @ B, atol=2**-8 * 4 * k**0.5)
