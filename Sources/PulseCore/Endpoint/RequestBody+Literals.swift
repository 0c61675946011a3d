// SPDX-License-Identifier: MIT

extension RequestBody: ExpressibleByDictionaryLiteral {
    /// Creates a JSON object, `["name": "Ada", "age": 36]`, as ``json(_:)-(JSONValue)`` does; if a key is repeated, its
    /// last value counts.
    public init(dictionaryLiteral elements: (String, JSONValue)...) {
        self = .json(JSONValue.object(Dictionary(elements) { _, last in last }))
    }
}

extension RequestBody: ExpressibleByArrayLiteral {
    /// Creates a JSON array: `["Ada", 36, nil]`.
    public init(arrayLiteral elements: JSONValue...) {
        self = .json(JSONValue.array(elements))
    }
}
