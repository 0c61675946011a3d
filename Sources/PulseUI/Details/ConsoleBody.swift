// SPDX-License-Identifier: MIT

import PulseObservability

/// A body in the details of a request.
package struct ConsoleBody: Sendable, Hashable {
    private let body: PulseRecording.Body

    /// Nil if there was no body.
    init?(_ body: PulseRecording.Body) {
        guard body.content != .none else { return nil }
        self.body = body
    }

    /// The size of the body, and what is missing of it: `12 bytes`, `cut, of 70000 bytes`, or
    /// `3 bytes, not kept: no text`.
    package var note: String { body.note ?? "" }

    /// The text, secrets masked, JSON indented; nil if none is stored. It is computed on each access.
    ///
    /// Indentation changes only the whitespace between JSON tokens: keys keep their order, numbers their digits.
    package var text: String? {
        guard let text = body.text else { return nil }
        return JSONIndentation.indented(text, isTruncated: body.isTruncated) ?? text
    }

    /// Whether there is a ``text``.
    package var hasText: Bool { body.text != nil }
}
