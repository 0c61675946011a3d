// SPDX-License-Identifier: MIT

/// The placeholders of a path template, by the rules of PulseKit's `PathTemplate`.
struct Template {
    struct Malformed: Error, Equatable {
        let reason: String
    }

    /// The placeholders in their order, each with the text before it.
    let placeholders: [(before: String, name: String)]
    /// The text after the last placeholder.
    let rest: String

    init(_ text: String) throws(Malformed) {
        var placeholders: [(before: String, name: String)] = []
        var remaining = Substring(text)
        while let brace = remaining.firstIndex(where: { "{}".contains($0) }) {
            guard remaining[brace] == "{", let end = remaining[brace...].firstIndex(of: "}") else {
                throw Malformed(reason: "an unbalanced brace")
            }
            let name = String(remaining[brace..<end].dropFirst())
            guard Self.isIdentifier(name) else {
                throw Malformed(reason: "'{\(name)}' is not the name of a property in braces")
            }
            placeholders.append((String(remaining[..<brace]), name))
            remaining = remaining[end...].dropFirst()
        }
        self.placeholders = placeholders
        rest = String(remaining)
    }

    /// The names of the placeholders, each once, in their order.
    var names: [String] {
        placeholders.reduce(into: []) { names, next in
            if !names.contains(next.name) { names.append(next.name) }
        }
    }

    /// A string literal with an interpolation in place of each placeholder.
    func literal(interpolating expression: (String) -> String) -> String {
        let parts = placeholders.map { Self.escaped($0.before) + "\\(\(expression($0.name)))" }
        return "\"\(parts.joined())\(Self.escaped(rest))\""
    }

    private static func escaped(_ text: String) -> String { String(text.debugDescription.dropFirst().dropLast()) }

    private static func isIdentifier(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return name.unicodeScalars.allSatisfy {
            $0.isASCII && ($0.properties.isAlphabetic || "0"..."9" ~= $0 || $0 == "_")
        }
    }
}
