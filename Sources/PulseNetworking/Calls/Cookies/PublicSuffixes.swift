// SPDX-License-Identifier: MIT

import PulseCore
import PulseStorage

/// The domains under which unrelated owners register names, such as `co.uk` and `github.io`, by the rules of
/// publicsuffix.org. Names are compared in lower case and in Punycode.
struct PublicSuffixes: Sendable {
    /// The list that Debian and other distributions install; ``compact`` if there is none. Read once, for the first
    /// cookie with a `Domain`.
    static let current = PublicSuffixes(file: "/usr/share/publicsuffix/public_suffix_list.dat") ?? compact

    /// The maximum size of the file in bytes; the list has a quarter of a megabyte.
    private static let sizeLimit = 4 << 20
    private static let lastLine = "// ===END PRIVATE DOMAINS==="

    private let rules: Set<String>

    /// - Parameter groups: each top-level domain with a colon, followed by its rules without it, all separated by
    ///   white space.
    init(groups: String) {
        var domain: Substring = ""
        var rules: Set<String> = []
        for word in groups.utf8.split(whereSeparator: \.isBlank).map(Substring.init) {
            if word.hasSuffix(":") { domain = word.dropLast() } else { rules.insert("\(word).\(domain)") }
        }
        self.rules = rules
    }

    /// Reads a file in the format of publicsuffix.org. Nil unless it is a regular file with a complete list.
    init?(file path: String) {
        guard let bytes = try? SystemFile.contents(path, limit: Self.sizeLimit, using: .system) else { return nil }
        self.init(list: bytes)
    }

    /// Parses the format of publicsuffix.org: a rule is a line up to its first white space, `//` starts a comment. Nil
    /// if the text is not UTF-8 or does not have the comment that ends the list.
    init?(list bytes: [UInt8]) {
        guard String(bytes: bytes, encoding: .utf8) != nil else { return nil }
        var rules: Set<String> = []
        var isWhole = false
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            if line.starts(with: "//".utf8) {
                isWhole = isWhole || line.starts(with: Self.lastLine.utf8)
            } else if let rule = line.split(maxSplits: 1, whereSeparator: \.isBlank).first {
                rules.insert(Self.punycode(String(decoding: rule, as: UTF8.self).asciiLowercased))
            }
        }
        guard isWhole else { return nil }
        self.rules = rules
    }

    /// Whether the whole name is a public suffix by its longest rule. An exception (`!www.ck`) overrides every rule, a
    /// wildcard (`*.ck`) also matches its domain, as in browsers, and a single label matches without a rule.
    func contains(_ name: String) -> Bool {
        guard let dot = name.firstIndex(of: ".") else { return true }
        guard !rules.contains("!" + name) else { return false }
        return rules.contains(name) || rules.contains("*" + name[dot...]) || rules.contains("*." + name)
    }

    /// The rule with its name in Punycode, as computed by Foundation.
    private static func punycode(_ rule: String) -> String {
        guard !rule.utf8.allSatisfy({ $0 < 0x80 }) else { return rule }
        let mark = rule.hasPrefix("*.") ? "*." : rule.hasPrefix("!") ? "!" : ""
        return mark + (URL(string: "https://" + rule.dropFirst(mark.count))?.host ?? "")
    }
}

extension UInt8 {
    fileprivate var isBlank: Bool { self == 0x20 || 0x09...0x0D ~= self }
}
