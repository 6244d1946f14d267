# accepted
# markup
import html
title = html.escape(title)
