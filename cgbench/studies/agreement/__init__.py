"""How well raters agree with each other, and metrics with raters."""
