// SPDX-License-Identifier: MIT

import PulseKit

/// The places in which a credential travels, each with a secret of its own, so that what leaks tells where from.
enum PlantedSecret: String, CaseIterable, Sendable {
    // Of the request.
    case bearer, basic, apiKeyHeader, proxyAuthorization, cookie, signature, configuredHeader, markedHeader
    case loggerHeader, nestedURLInHeader
    case queryItem, mixedCaseQueryItem, escapedQueryName, urlInQuery, listInQuery
    // Of its body.
    case jsonField, nestedJSON, jsonArray, jsonObjectUnderSecretName, unicodeEscapedKey, mixedCaseKey, jsonInJSON
    case numberInJSON
    case formField, escapedFormName, bracketFormName, multipartField, jsonInMultipart, graphQLVariable
    case xmlElement, bearerInText, privateKey, fileBody
    // Of the response.
    case setCookie, tokenHeader, answerField, errorField, errorText, webToken, keyOfADictionary
    // Of a redirect.
    case locationQuery, locationUserInfo, locationFragment
    // Of a URL.
    case userInfo

    /// In every secret, at its beginning and its end: whatever leaks, and however it is written, has it.
    private static let marker = "Zx9Qv7Kw"

    /// Letters and digits, but for some that have what must be escaped.
    var value: String {
        switch self {
        case .numberInJSON: Self.number
        case .jsonField, .formField, .queryItem, .multipartField, .configuredHeader:
            "\(Self.marker)\(rawValue)+/=&\"\(Self.marker)"
        case .webToken: "eyJhbGciOiJIUzI1NiJ9.\(Self.claims).\(Self.marker)"
        default: "\(Self.marker)\(rawValue)\(Self.marker)"
        }
    }

    private static let number = "90817263540918"
    private static let claims = "eyJzdWIiOiJ3ZWJUb2tlbiJ9"

    /// What no text may have: plainly, percent-encoded, escaped for JSON, or in base64, wherever in it the secret begins.
    static let needles: [String] =
        [marker, number, claims]
        + [0, 1, 2].map { offset in
            // Without the characters that depend on what is beside it.
            let text = Data(repeating: 0, count: offset) + Data(marker.utf8)
            let whole = text.base64EncodedString().prefix(text.count * 8 / 6)
            return String(whole.dropFirst([0, 2, 3][offset]))
        }

    var percentEncoded: String { value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? value }
    var json: String { value.replacingOccurrences(of: "\"", with: "\\\"") }

    /// Whether a text has this very secret.
    func isIn(_ text: String) -> Bool {
        let basic = Data("ada:\(value)".utf8).base64EncodedString()
        return [value, percentEncoded, json, basic].contains { text.contains($0) }
    }
}
