//! Applies what was planned on Linux: the only unsafe code, and it knows no policy.
