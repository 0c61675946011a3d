// SPDX-License-Identifier: MIT

/// All texts that printing, interpolating, dumping and reflecting a value can show.
func texts(of value: Any) -> [String] {
    var dumped = ""
    dump(value, to: &dumped)
    return [
        "\(value)", String(describing: value), String(reflecting: value), dumped,
        "\(Mirror(reflecting: value).children.map { $0 })",
    ]
}
