"""Where two models differ, by how much, and how sure that is."""
