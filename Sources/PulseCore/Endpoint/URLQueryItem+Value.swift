// SPDX-License-Identifier: MIT

extension URLQueryItem {
    // Disfavored, so that a text goes to Foundation's own initializer.
    /// Creates an item whose value is the text of a number, a Boolean or any other value that has one:
    /// `URLQueryItem(name: "page", value: 2)`.
    @_disfavoredOverload
    public init(name: String, value: some LosslessStringConvertible) {
        let text: String? = value.description
        self.init(name: name, value: text)
    }
}
