"""The gallery: reports of networks of all kinds, each with a tour, and the page that leads to them."""
