// SPDX-License-Identifier: MIT

import PulseCalls
import PulseCore
import PulsePlatform

/// The parts of a GraphQL operation from which the client builds the request.
final class GraphQLContent: Sendable {
    /// How a request identifies its document.
    enum Form {
        case document, hash, both
    }

    let document: String
    /// Nil for the only operation of the document.
    let operationName: String?
    let variables: any Encodable & Sendable
    let uploads: [GraphQLUpload]
    let extensions: [String: JSONValue]
    /// Parsed once for all parts of the call.
    private let parsed: Result<GraphQLDocument.Operation, any Error>

    init(
        document: String, operationName: String?, variables: any Encodable & Sendable, uploads: [GraphQLUpload],
        extensions: [String: JSONValue]
    ) {
        self.document = document
        self.operationName = operationName
        self.variables = variables
        self.uploads = uploads
        self.extensions = extensions
        parsed = Result { try GraphQLDocument(document).operation(named: operationName) }
    }

    /// The operation in the document. Throws ``PulseError/invalidRequest(reason:)`` if the document has none.
    func operation() throws -> GraphQLDocument.Operation { try parsed.get() }

    /// The `Accept` of a request.
    var accept: String { "application/graphql-response+json, application/json;q=0.9" }

    /// The members of a request in order, each as JSON. Empty members are omitted.
    func members(_ form: Form, using encoder: any RequestEncoder) throws -> [(name: String, json: Data)] {
        var extensions = extensions
        if form != .document {
            guard let hash = SystemHashes.library?.sha256(document) else {
                return try members(.document, using: encoder)
            }
            extensions["persistedQuery"] = ["version": 1, "sha256Hash": .string(hash.hex)]
        }
        var members: [(name: String, json: Data)] = []
        if form != .hash { members.append(("query", JSONText.string(document))) }
        if let name = try operation().name { members.append(("operationName", JSONText.string(name))) }
        if let variables = try variablesText(encoder) { members.append(("variables", variables)) }
        if !extensions.isEmpty { members.append(("extensions", try Self.json(extensions))) }
        return members
    }

    private func variablesText(_ encoder: any RequestEncoder) throws -> Data? {
        guard !(variables is NoVariables) else { return nil }
        let text: Data
        do {
            text = try encoder.encode(variables)
        } catch {
            throw error as? PulseError ?? PulseError.encodingFailed(underlying: error)
        }
        return text.elementsEqual("{}".utf8) ? nil : text
    }

    private static func json(_ value: some Encodable) throws -> Data {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return try encoder.encode(value)
    }

    /// The request as a JSON object.
    static func object(_ members: [(name: String, json: Data)]) -> Data {
        // An array, since appending to it is faster than to `Data`: see the row "GraphQL query" of pulse-benchmarks.
        var text = [UInt8(ascii: "{")]
        for (index, (name, json)) in members.enumerated() {
            text += (index > 0 ? ",\"" : "\"").utf8
            text += name.utf8
            text += "\":".utf8
            text += json
        }
        text.append(UInt8(ascii: "}"))
        return Data(text)
    }

    /// The body of a POST: JSON, or a form with the uploads.
    func body(_ form: Form, using encoder: any RequestEncoder) throws -> RequestBody {
        let members = try members(form, using: encoder)
        let operations = Self.object(members)
        guard !uploads.isEmpty else { return .data(operations, contentType: "application/json") }
        try checkPlaces(in: members.first { $0.name == "variables" }?.json)
        let map = try uploads.enumerated().map { index, upload in
            (name: String(index), json: try Self.json(upload.variables.map { "variables." + $0 }))
        }
        let parts = [
            MultipartFormData.Part(name: "operations", data: operations),
            MultipartFormData.Part(name: "map", data: Self.object(map)),
        ]
        return .multipart(
            MultipartFormData(parts: parts + uploads.enumerated().map { $1.part(String($0)) }))
    }

    /// The query of a GET.
    func query(_ form: Form, using encoder: any RequestEncoder) throws -> [URLQueryItem] {
        try members(form, using: encoder).map { name, json in
            // These two members are sent as plain text, not as JSON.
            let text = name == "query" ? document : name == "operationName" ? try operation().name : nil
            return URLQueryItem(name: name, value: text ?? String(decoding: json, as: UTF8.self))
        }
    }

    /// Throws unless the variable of each upload is null: the server would lose the file or the variable's value.
    private func checkPlaces(in variables: Data?) throws {
        let root = try variables.map { try JSONDecoder().decode(JSONValue.self, from: $0) } ?? .object([:])
        for place in uploads.flatMap(\.variables) {
            var value: JSONValue? = root
            for key in place.split(separator: ".", omittingEmptySubsequences: false) {
                switch value {
                case .object(let members)?: value = members[String(key)]
                case .array(let elements)?:
                    let index = Int(key) ?? -1
                    // Not `nil`, which would be JSON's null.
                    value = elements.indices.contains(index) ? .some(elements[index]) : .none
                default: value = .none
                }
            }
            guard value == .null else {
                throw PulseError.invalidRequest(
                    reason: "GraphQL: the variables have no null at \(place), where an upload belongs")
            }
        }
        guard uploads.allSatisfy({ !$0.variables.isEmpty }) else {
            throw PulseError.invalidRequest(reason: "GraphQL: an upload names no variable")
        }
    }
}

extension URLRequest {
    /// URLs of up to this many bytes pass through common servers and proxies.
    private static let maxURLLength = 8000

    /// Turns the POST of a query into a GET. Returns false and changes nothing if its URL would be too long.
    mutating func makeGET(
        of content: GraphQLContent, _ form: GraphQLContent.Form, using encoder: any RequestEncoder
    ) throws -> Bool {
        let items = try content.query(form, using: encoder)
        let long = try URLComposer(baseURL: nil).url(path: url?.absoluteString ?? "", query: items)
        guard long.absoluteString.utf8.count <= Self.maxURLLength else { return false }
        (url, httpMethod, httpBody) = (long, "GET", nil)
        setValue(nil, forHTTPHeaderField: "Content-Type")
        requirePreflight()
        return true
    }

    /// Marks a request that browsers send without a preflight, for servers that otherwise reject it (CSRF).
    mutating func requirePreflight() {
        setHeader("Apollo-Require-Preflight", to: "true")
    }
}
