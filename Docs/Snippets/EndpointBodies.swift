// SPDX-License-Identifier: MIT
//! Bodies: JSON, forms, multipart, bytes, files.

import PulseKit
import PulseTesting

struct Profile: Encodable, Sendable {
    let name: String
    let languages: [String]
}
let profile = Profile(name: "Ada", languages: ["Swift", "C++"])
let image = Data([0x89, 0x50, 0x4E, 0x47])
let fileURL = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-snippet.txt")
try Data("from a file".utf8).write(to: fileURL)

// snippet.json
let encoded = RequestBody.json(profile)
let literal = RequestBody.json(["name": "Ada", "age": 36, "tags": ["a", "b"], "manager": nil])
// snippet.end

let (name, age, city, manager): (String, Int, String, String?) = ("Ada", 36, "London", nil)
// snippet.variables
let variables = RequestBody.json(["name": name, "age": age, "manager": manager])
let nested = RequestBody.json([
    "name": name,
    "address": ["city": city, "floor": 2, "tags": ["home", "work"]] as JSONValue.Literal,
])
// snippet.end

// snippet.form
let form = RequestBody.formURLEncoded(profile)
let pairs = RequestBody.formURLEncoded([URLQueryItem(name: "q", value: "1 + 1"), URLQueryItem(name: "q", value: "é")])
// snippet.end

// snippet.multipart
let parts = MultipartFormData(parts: [
    .init(name: "title", data: Data("Ada Lovelace".utf8)),
    .init(name: "portrait", data: image, filename: "ada.png"),
])
let multipart = RequestBody.multipart(parts)

let appended = RequestBody.multipart { form in
    form.append("Ada Lovelace", name: "title")
    form.append(fileURL, name: "letter")
}
// snippet.end

// snippet.bytes
let bytes = RequestBody.data(image, contentType: "image/png")
let text = RequestBody.text("plain, in UTF-8")
let file = RequestBody.file(fileURL, contentType: "text/plain")
// snippet.end

// snippet.encoded
let propertyList = RequestBody.encoded(contentType: "application/x-plist") {
    try PropertyListEncoder().encode(profile)
}
// snippet.end

// snippet.endpoint
struct SaveProfile: Endpoint {
    typealias Response = EmptyResponse

    let id: String
    let profile: Profile

    var path: PathText { "/profiles/\(id)" }
    let method = HTTPMethod.put
    var body: RequestBody { .json(profile) }
}
// snippet.end

// Each body as a server reads it.
try await MockServer.run { server in
    server.fallback { request in
        .text("\(request.headers["Content-Type"] ?? ""), \(request.bodyByteCount) bytes: \(request.text.prefix(60))")
    }
    let client = PulseClient(configuration: PulseConfiguration(baseURL: server.baseURL))
    let bodies = [
        encoded, literal, variables, nested, form, pairs, multipart, appended, bytes, text, file, propertyList,
    ]
    for body in bodies {
        let seen: String = try await client.post("/echo", body: body)
        print(seen.debugDescription)
    }
    try await client.request(SaveProfile(id: "ada", profile: profile))

    // snippet.progress
    let upload = Request<EmptyResponse>(.put, "/files/ada").body(.file(fileURL))
    let watched = RequestOptions().with(\.progress) { progress in
        if let total = progress.total { print("\(progress.completed) of \(total) bytes") }
    }
    try await client.request(upload, options: watched)
    // snippet.end
    await client.shutdown()
}
try FileManager.default.removeItem(at: fileURL)
