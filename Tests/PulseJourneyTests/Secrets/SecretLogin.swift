// SPDX-License-Identifier: MIT

import PulseKit
import PulseTesting

/// A login that carries a secret in every position of a request.
struct SecretLogin: Endpoint {
    struct Response: Decodable, Sendable {
        let id: Int
    }

    /// The kind of its body.
    enum Carrier: String, CaseIterable, Sendable {
        case none, json, form, multipart, graphQL, xml, text, file
    }

    var address: String
    var method = HTTPMethod.post
    var carrier = Carrier.json
    var options = RequestOptions()

    var path: String { "\(address)?%70assword=\(PlantedSecret.escapedQueryName.value)" }

    var queryItems: [URLQueryItem] {
        [
            URLQueryItem(name: "access_token", value: PlantedSecret.queryItem.value),
            URLQueryItem(name: "Api_KEY", value: PlantedSecret.mixedCaseQueryItem.value),
            URLQueryItem(name: "next", value: "https://h.example/?token=\(PlantedSecret.urlInQuery.value)&a=1"),
            URLQueryItem(name: "tokens[]", value: PlantedSecret.listInQuery.value),
            URLQueryItem(name: "page", value: "neighbor"),
        ]
    }

    var headers: [String: String] {
        [
            "Authorization": carrier == .form
                ? "Basic " + Data("ada:\(PlantedSecret.basic.value)".utf8).base64EncodedString()
                : "Bearer \(PlantedSecret.bearer.value)",
            "x-API-key": PlantedSecret.apiKeyHeader.value,
            "Proxy-Authorization": "Basic \(PlantedSecret.proxyAuthorization.value)",
            "Cookie": "theme=dark; sid=\(PlantedSecret.cookie.value)",
            "X-Signature-256": PlantedSecret.signature.value,
            "X-Own": PlantedSecret.loggerHeader.value,
            "Referer": "https://h.example/a?code=1&refresh_token=\(PlantedSecret.nestedURLInHeader.value)",
        ]
    }

    var body: RequestBody {
        switch carrier {
        case .none: .none
        case .json: .data(Data(json.utf8), contentType: "application/json")
        case .form:
            .data(
                Data(
                    "user=neighbor&client_secret=\(PlantedSecret.formField.percentEncoded)&%74oken="
                        .appending("\(PlantedSecret.escapedFormName.value)&user%5Bpin%5D=")
                        .appending(PlantedSecret.bracketFormName.value).utf8),
                contentType: "application/x-www-form-urlencoded")
        case .multipart:
            .multipart(
                MultipartFormData(parts: [
                    .init(name: "user", data: Data("neighbor".utf8)),
                    .init(name: "password", data: Data(PlantedSecret.multipartField.value.utf8)),
                    .init(
                        name: "meta", data: Data(#"{"token":"\#(PlantedSecret.jsonInMultipart.value)"}"#.utf8),
                        mimeType: "application/json"),
                ]))
        case .graphQL:
            .graphQL(
                query: "mutation($password: String!) { login(password: $password) { id } }",
                variables: ["password": .string(PlantedSecret.graphQLVariable.value), "user": "neighbor"])
        case .xml:
            .data(
                Data("<a>neighbor</a><p:Password>\(PlantedSecret.xmlElement.value)</p:Password>".utf8),
                contentType: "text/xml")
        case .text:
            .text(
                "neighbor\nAuthorization: Bearer \(PlantedSecret.bearerInText.value)\n-----BEGIN PRIVATE KEY-----\n"
                    + "\(PlantedSecret.privateKey.value)\n-----END PRIVATE KEY-----\n")
        case .file: .file(Self.file)
        }
    }

    /// Written by the suites, always with the same content, and reused by the next run.
    static let file = FileManager.default.temporaryDirectory
        .appendingPathComponent("\(PlantedSecret.fileBody.value).txt")

    private var json: String {
        #"{"user":"neighbor","password":"\#(PlantedSecret.jsonField.json)","#
            + #""a":{"b":[{"clientSecret":"\#(PlantedSecret.nestedJSON.value)"}]},"#
            + #""tokens":["x","\#(PlantedSecret.jsonArray.value)"],"#
            + #""credentials":{"x":{"y":"\#(PlantedSecret.jsonObjectUnderSecretName.value)"}},"#
            + #""\u0070assw\u006Frd":"\#(PlantedSecret.unicodeEscapedKey.value)","#
            + #""ApiKEY":"\#(PlantedSecret.mixedCaseKey.value)","pin":\#(PlantedSecret.numberInJSON.value),"#
            + #""log":"{\"token\":\"\#(PlantedSecret.jsonInJSON.value)\",\"c\":1}"}"#
    }
}

/// Sets a header that no list contains, and marks it as secret.
struct MarkingPlugin: PulsePlugin {
    let identifier = "com.example.marking"

    func prepare(_ request: inout URLRequest, for context: PluginContext) async throws {
        context.markSecret(header: "X-Marked")
        request.setValue(PlantedSecret.markedHeader.value, forHTTPHeaderField: "X-Marked")
    }
}
