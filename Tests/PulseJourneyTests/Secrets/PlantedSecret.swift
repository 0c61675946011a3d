// SPDX-License-Identifier: MIT

import PulseKit

/// The positions of a credential, each with its own secret, so that a leak identifies its source.
enum PlantedSecret: String, CaseIterable, Sendable {
    // In the request.
    case bearer, basic, apiKeyHeader, proxyAuthorization, cookie, signature, configuredHeader, markedHeader
    case loggerHeader, nestedURLInHeader
    case queryItem, mixedCaseQueryItem, escapedQueryName, urlInQuery, listInQuery
    // In its body.
    case jsonField, nestedJSON, jsonArray, jsonObjectUnderSecretName, unicodeEscapedKey, mixedCaseKey, jsonInJSON
    case numberInJSON
    case formField, escapedFormName, bracketFormName, multipartField, jsonInMultipart, graphQLVariable
    case xmlElement, bearerInText, privateKey, fileBody
    // In the response.
    case setCookie, tokenHeader, responseField, errorField, errorText, webToken, keyOfADictionary
    // In a redirect.
    case locationQuery, locationUserInfo, locationFragment
    // In a URL.
    case userInfo

    /// At the start and end of every secret: any leak contains it, in any encoding.
    private static let marker = "Zx9Qv7Kw"

    /// Letters and digits; some values contain characters that must be escaped.
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

    /// Texts that must never appear: plain, percent-encoded, JSON-escaped, or base64 at any byte offset.
    static let forbiddenTexts: [String] =
        [marker, number, claims]
        + [0, 1, 2].map { offset in
            // Without the characters that depend on the adjacent bytes.
            let text = Data(repeating: 0, count: offset) + Data(marker.utf8)
            let whole = text.base64EncodedString().prefix(text.count * 8 / 6)
            return String(whole.dropFirst([0, 2, 3][offset]))
        }

    var percentEncoded: String { value.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? value }
    var json: String { value.replacingOccurrences(of: "\"", with: "\\\"") }

    /// Whether a text contains this secret.
    func isIn(_ text: String) -> Bool {
        let basic = Data("ada:\(value)".utf8).base64EncodedString()
        return [value, percentEncoded, json, basic].contains { text.contains($0) }
    }
}
