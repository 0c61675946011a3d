// SPDX-License-Identifier: MIT

/// Tokens recognized by their form, whatever their name: JSON Web Tokens and the keys of well-known services.
extension SecretScanner {
    /// Scans for `eyJ….….…`: a JWS or JWE in compact form (RFC 7515, section 7.1). `eyJ` is `{"` in base64.
    mutating func scanWebToken() {
        let start = position - 2
        position += 1
        guard matches(Array("eyj".utf8), at: start), bytes[start] == UInt8(ascii: "e"),
            start == floor || !kind(start - 1).isBase64URL || isEscaped(start)
        else { return }
        var dots = 0
        while kind(position).isBase64URL || byte(position) == UInt8(ascii: ".") {
            if bytes[position] == UInt8(ascii: ".") { dots += 1 }
            position += 1
        }
        // A truncated log may lack the signature; the claims are in the second part.
        if dots >= 2 || dots == 1 && position - start >= 24 { replace(start..<position) }
    }

    /// The format of a service's keys: a prefix, and the bytes after it.
    private struct KeyFormat: Sendable {
        let prefix: [UInt8]
        /// The index of the byte at which the scanner stops.
        let mark: Int
        /// The minimum number of bytes after the prefix: shorter text is prose, or the start of a name.
        let minimumLength: Int

        init(_ prefix: String, _ minimumLength: Int, mark: Int? = nil) {
            self.prefix = Array(prefix.utf8)
            self.mark = mark ?? self.prefix.count - 1
            self.minimumLength = minimumLength
        }

        /// Whether only letters and digits count: underscores separate the words of names, as in `npm_config_registry`.
        var isAlphanumeric: Bool { prefix.last == UInt8(ascii: "_") }
    }

    /// The formats by the byte before their mark.
    private static let keyFormats: [[KeyFormat]] = {
        var table = [[KeyFormat]](repeating: [], count: 256)
        let all = [
            // Amazon Web Services, Google
            KeyFormat("AKIA", 16, mark: 2), KeyFormat("ASIA", 16, mark: 2), KeyFormat("AIza", 30, mark: 1),
            // GitHub, GitLab, npm
            KeyFormat("ghp_", 20), KeyFormat("gho_", 20), KeyFormat("ghu_", 20), KeyFormat("ghs_", 20),
            KeyFormat("ghr_", 20), KeyFormat("github_pat_", 20), KeyFormat("glpat-", 20), KeyFormat("npm_", 30),
            // Stripe
            KeyFormat("sk_live_", 10), KeyFormat("sk_test_", 10), KeyFormat("rk_live_", 10),
            KeyFormat("rk_test_", 10), KeyFormat("whsec_", 20),
            // Slack
            KeyFormat("xoxb-", 10), KeyFormat("xoxp-", 10), KeyFormat("xoxa-", 10), KeyFormat("xoxr-", 10),
            KeyFormat("xoxs-", 10), KeyFormat("xoxe-", 10), KeyFormat("xapp-", 10),
            // Anthropic, OpenAI
            KeyFormat("sk-ant-", 20), KeyFormat("sk-proj-", 20),
        ]
        for format in all { table[Int(format.prefix[format.mark - 1])].append(format) }
        return table
    }()

    /// Scans for a key around the mark of its format at the current position.
    mutating func scanToken() {
        let mark = position
        position += 1
        guard mark > floor else { return }
        for format in Self.keyFormats[Int(bytes[mark - 1])] {
            let start = mark - format.mark
            guard start >= floor, begins(with: format.prefix, at: start),
                start == floor || !kind(start - 1).isBase64URL || isEscaped(start)
            else { continue }
            let body = start + format.prefix.count
            var stop = body
            while format.isAlphanumeric ? isAlphanumeric(stop) : kind(stop).isBase64URL { stop += 1 }
            guard stop - body >= format.minimumLength else { return }
            while kind(stop).isBase64URL { stop += 1 }
            return replace(start..<stop)
        }
    }

    private func begins(with prefix: [UInt8], at start: Int) -> Bool {
        var index = start
        for byte in prefix {
            guard self.byte(index) == byte else { return false }
            index += 1
        }
        return true
    }
}
