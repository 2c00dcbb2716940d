mod pass;
mod standing;
