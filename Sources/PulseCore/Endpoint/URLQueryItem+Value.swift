// SPDX-License-Identifier: MIT

extension URLQueryItem {
    // Disfavored, so that a string goes to Foundation's own initializer.
    /// Creates an item whose value is the text of a number, a Boolean or another value with a description:
    /// `URLQueryItem(name: "page", value: 2)`.
    @_disfavoredOverload
    public init(name: String, value: some LosslessStringConvertible) {
        let text: String? = value.description
        self.init(name: name, value: text)
    }
}
