"""CUDA C++ over Programs: text, the compiler nvrtc, the driver, and Kernels on arrays that live on a device."""
