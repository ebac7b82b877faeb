"""Systems with states as programs that integrate themselves: FMUs (FMI 2.0 and 3.0) and stand-alone C."""
