// SPDX-License-Identifier: MIT

/// The placeholders of a path template, by the rules of PulseKit's `PathTemplate`.
struct Template {
    struct Malformed: Error, Equatable {
        let reason: String
    }

    /// The names of the placeholders, each once, in their order.
    let names: [String]

    init(_ text: String) throws(Malformed) {
        var names: [String] = []
        var remaining = Substring(text)
        while let brace = remaining.firstIndex(where: { "{}".contains($0) }) {
            guard remaining[brace] == "{", let end = remaining[brace...].firstIndex(of: "}") else {
                throw Malformed(reason: "an unbalanced brace")
            }
            let name = String(remaining[brace..<end].dropFirst())
            guard Self.isIdentifier(name) else {
                throw Malformed(reason: "'{\(name)}' is not the name of a property in braces")
            }
            if !names.contains(name) { names.append(name) }
            remaining = remaining[end...].dropFirst()
        }
        self.names = names
    }

    private static func isIdentifier(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        return name.unicodeScalars.allSatisfy {
            $0.isASCII && ($0.properties.isAlphabetic || "0"..."9" ~= $0 || $0 == "_")
        }
    }
}
