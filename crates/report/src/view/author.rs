//! Texts of the author of a report: introduction, photos and conclusion. The texts are Markdown; HTML in them is shown
//! as text, images are only the photos, and links lead to the web or into the page.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use pulldown_cmark::{CowStr, Event, HeadingLevel, Options, Parser, Tag, TagEnd, html};

/// The texts and photos of an author.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Author {
    /// Markdown, before the verdict.
    pub introduction: Option<String>,
    /// Photos, after the introduction.
    pub photos: Vec<Photo>,
    /// Markdown, after the chapters.
    pub conclusion: Option<String>,
}

/// A photo of the drive or the test bench.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Photo {
    /// Caption of the photo.
    pub caption: String,
    /// Media type, such as `image/png`.
    pub media_type: &'static str,
    /// Contents of the image file.
    pub bytes: Vec<u8>,
}

impl Author {
    /// The introduction as HTML, or an empty text.
    pub fn introduction_html(&self) -> String {
        html_of(self.introduction.as_deref().unwrap_or_default())
    }

    /// The conclusion as HTML, or an empty text.
    pub fn conclusion_html(&self) -> String {
        html_of(self.conclusion.as_deref().unwrap_or_default())
    }
}

impl Photo {
    /// The photo as an address that needs no other file.
    pub fn address(&self) -> String {
        format!(
            "data:{};base64,{}",
            self.media_type,
            STANDARD.encode(&self.bytes)
        )
    }
}

fn html_of(markdown: &str) -> String {
    let parser = Parser::new_ext(
        markdown,
        Options::ENABLE_TABLES | Options::ENABLE_STRIKETHROUGH,
    );
    let mut out = String::new();
    html::push_html(&mut out, parser.filter_map(harmless));
    out
}

/// An event of the text; `None` if it could run code, fetch data or break the order of headings.
fn harmless(event: Event<'_>) -> Option<Event<'_>> {
    match event {
        Event::Html(text) | Event::InlineHtml(text) => Some(Event::Text(text)),
        Event::Start(Tag::Image { .. }) | Event::End(TagEnd::Image) => None,
        Event::Start(Tag::HtmlBlock) => Some(Event::Start(Tag::Paragraph)),
        Event::End(TagEnd::HtmlBlock) => Some(Event::End(TagEnd::Paragraph)),
        Event::Start(Tag::Heading { level, .. }) => Some(Event::Start(Tag::Heading {
            level: below_section(level),
            id: None,
            classes: Vec::new(),
            attrs: Vec::new(),
        })),
        Event::End(TagEnd::Heading(level)) => {
            Some(Event::End(TagEnd::Heading(below_section(level))))
        }
        Event::Start(Tag::Link {
            link_type,
            dest_url,
            title,
            id,
        }) => {
            let known = ["https://", "http://", "#"];
            let is_known = known.iter().any(|start| dest_url.starts_with(start));
            Some(Event::Start(Tag::Link {
                link_type,
                dest_url: if is_known {
                    dest_url
                } else {
                    CowStr::Borrowed("#")
                },
                title,
                id,
            }))
        }
        other => Some(other),
    }
}

/// The heading of the section has the second level.
fn below_section(level: HeadingLevel) -> HeadingLevel {
    match level {
        HeadingLevel::H1 | HeadingLevel::H2 => HeadingLevel::H3,
        _ => HeadingLevel::H4,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn markdown_becomes_html() {
        let html = html_of(
            "# Why\n\nA *cheap* card, [bought](https://example.org).\n\n| a | b |\n|---|---|\n| 1 | 2 |\n",
        );
        for part in [
            "<h3>Why</h3>",
            "<em>cheap</em>",
            "href=\"https://example.org\"",
            "<td>1</td>",
        ] {
            assert!(html.contains(part), "{html}");
        }
    }

    #[test]
    fn nothing_in_a_text_runs_or_fetches() {
        let text = "<script>alert(1)</script>\n\na <img src=x onerror=y> b\n\n[c](javascript:alert(1)) ![d](https://x/y.png) <javascript:z>\n\n[e]: data:x\n[e]";
        let html = html_of(text);
        for part in [
            "<script",
            "<img",
            "javascript:alert",
            "href=\"data",
            "y.png",
        ] {
            assert!(!html.contains(part), "{part} in {html}");
        }
        assert!(
            html.contains("&lt;script&gt;") && html.contains('d'),
            "{html}"
        );
    }

    #[test]
    fn a_photo_is_within_the_page() {
        let photo = Photo {
            caption: "front".into(),
            media_type: "image/png",
            bytes: vec![1, 2, 3],
        };
        assert_eq!(photo.address(), "data:image/png;base64,AQID");
    }
}
