"""What systems wrote, as columns with ids."""
