"""What follows from a Mechanism, a System or a Flow: made once, and freed with it (decision 0016)."""

from symbody.basics.lazy import door

__all__, __getattr__, __dir__ = door(
    __name__,
    {
        "model_memory": "derived_of numbers_key options_key",
        "kernels": "kernel_of quick_kernel",
        "partitions": "partition_at wanted_at",
    },
)
