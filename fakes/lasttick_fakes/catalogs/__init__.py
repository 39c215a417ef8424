"""Fake remote catalogs: indexes and cookbook bundles behind HTTP, healthy or hostile."""

from lasttick_fakes.catalogs.app import RemoteCatalog
from lasttick_fakes.catalogs.bundles import bundle, http_recipes, mail_recipes
from lasttick_fakes.catalogs.trouble import Trouble

__all__ = ["RemoteCatalog", "Trouble", "bundle", "http_recipes", "mail_recipes"]
