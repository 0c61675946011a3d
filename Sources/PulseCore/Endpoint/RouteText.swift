// SPDX-License-Identifier: MIT

/// Default routes: the method and the path without values, so that all calls to one resource share a route.
package enum RouteText {
    static let placeholder = "{id}"

    /// `GET /users/{id}`: a path without its first slash has the same route as one with it.
    static func route(_ method: HTTPMethod, _ path: String) -> String {
        String(joining: method.rawValue, path.utf8.first == slash ? " " : " /", path)
    }

    /// A literal path with `{id}` for each segment that looks like a value: numbers and dates, UUIDs, long hexadecimal
    /// or base64 text, addresses, escapes. Within a word, only a number of at least three digits is replaced.
    ///
    /// This is a guess: a name such as `ada` looks like a word of the API. Collectors of routes must limit their
    /// number.
    static func withoutValues(_ path: String) -> String {
        let segments = path.utf8.split(separator: slash, omittingEmptySubsequences: false)
        guard segments.contains(where: Segment.mayHoldAValue) else { return path }
        return segments.map { Segment($0).withoutValues }.joined(separator: "/")
    }

    fileprivate static let slash = UInt8(ascii: "/")
}

extension RouteText {
    /// A segment of a path with statistics of its bytes.
    private struct Segment {
        private let bytes: Substring.UTF8View
        private var digits = 0
        /// Groups of adjacent digits.
        private var numbers = 0
        private var longestNumber = 0
        private var hexDigits = 0
        private var uppercase = 0
        private var lowercase = 0
        private var dashes = 0
        /// Adjacent letters and digits without a vowel between them.
        private var longestCluster = 0
        private var isForeign = false

        init(_ bytes: Substring.UTF8View) {
            self.bytes = bytes
            var (number, cluster) = (0, 0)
            for (offset, byte) in bytes.enumerated() {
                number = byte.isASCIIDigit ? number + 1 : 0
                if number == 1 { numbers += 1 }
                longestNumber = max(longestNumber, number)
                cluster = ASCIISet.alphanumerics.contains(byte) && !Self.vowels.contains(byte) ? cluster + 1 : 0
                longestCluster = max(longestCluster, cluster)
                count(byte)
                if !ASCIISet.path.contains(byte) || byte == UInt8(ascii: "@") && offset > 0 { isForeign = true }
            }
        }

        private mutating func count(_ byte: UInt8) {
            if byte.hexDigitValue != nil { hexDigits += 1 }
            switch byte {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digits += 1
            case UInt8(ascii: "a")...UInt8(ascii: "z"): lowercase += 1
            case UInt8(ascii: "A")...UInt8(ascii: "Z"): uppercase += 1
            case UInt8(ascii: "-"): dashes += 1
            default: break
            }
        }

        /// Whether the segment needs a full check: most segments are words.
        static func mayHoldAValue(_ segment: Substring.UTF8View) -> Bool {
            segment.count >= 16 || !segment.allSatisfy(plain.contains)
        }

        var withoutValues: String {
            if isValue { return RouteText.placeholder }
            guard longestNumber >= 3 else { return String(Substring(bytes)) }
            var (text, number) = ("", "")
            for scalar in Substring(bytes).unicodeScalars {
                if scalar.isASCII, UInt8(ascii: scalar).isASCIIDigit {
                    number.unicodeScalars.append(scalar)
                } else {
                    text += number.utf8.count < 3 ? number : RouteText.placeholder
                    text.unicodeScalars.append(scalar)
                    number = ""
                }
            }
            return text + (number.utf8.count < 3 ? number : RouteText.placeholder)
        }

        private var isValue: Bool {
            guard !bytes.isEmpty else { return false }
            let letters = uppercase + lowercase
            let isMixed = uppercase > 0 && lowercase > 0
            return isForeign || bytes.count > 64
                || digits > 0 && letters == 0
                || hexDigits + dashes == bytes.count && (hexDigits >= 8 && digits > 0 || hexDigits >= 16)
                || bytes.last == UInt8(ascii: "=") && bytes.count >= 8
                || numbers >= 2 && (bytes.count >= 16 || bytes.count >= 10 && isMixed)
                || bytes.count >= 16 && longestCluster >= 7 && (isMixed || digits > 0)
        }

        private static let vowels = ASCIISet("aeiouyAEIOUY")
        private static let plain = ASCIISet("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ-._~")
    }
}
