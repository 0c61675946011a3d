// SPDX-License-Identifier: MIT
//! Downloads to files, and uploads with progress.

import PulseKit
import PulseTesting

let server = try await MockServer.start()
server.serve(MockServer.File(Data("a long film".utf8), etag: "\"1\""), at: "/films/1")
server.on(.put, "/videos/1") { request in .status(204) }
let client = PulseClient(configuration: PulseConfiguration(baseURL: server.baseURL))
let folder = FileManager.default.temporaryDirectory.appendingPathComponent("pulse-\(UUID().uuidString)")
try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
let file = folder.appendingPathComponent("film.mp4")

// snippet.download
try await client.download("/films/1", to: file) { progress in
    if let fraction = progress.fraction { print("\(Int(fraction * 100)) %") }
}
// snippet.end

// snippet.updates
for try await update in client.downloading("/films/1", to: file) {
    switch update {
    case .progress(let progress): print(progress.completed, progress.secondsLeft ?? .infinity)
    case .finished(let response): print(response.statusCode)
    }
}
// snippet.end

// snippet.options
let options = Download.Options()
    .with(\.contentKey, value: "film 1")  // its URL is signed, and changes
    .with(\.digest, value: .sha256("47456bb8c79aff68ce8fcb55208f2db4d686985360cc647ceb129f3951431e65"))
do {
    try await client.download("/films/1", to: file, download: options)
} catch PulseError.transport(_, let failure as TransferFailure) {
    print(failure)
}
// snippet.end

// snippet.into
let response = try await client.download("/films/1", into: folder)
print(response.file?.lastPathComponent ?? "")
// snippet.end

// snippet.upload
try await client.upload(file, to: "/videos/1") { progress in
    print("attempt \(progress.attempt): \(progress.completed) of \(progress.total ?? 0) bytes")
}
// snippet.end

// snippet.resuming
let uploads = UploadResumption(directory: folder, metadata: ["filename": "film.mp4"])
try await client.upload(file, to: "/videos/1", resuming: uploads)
// snippet.end

// snippet.list
let downloads = Downloads(directory: folder.appendingPathComponent("downloads"), client: client)
try await downloads.start()  // goes on with what was under way at the last exit
let download = try await downloads.add("/films/1", to: file)
for await event in download.events {
    switch event {
    case .progress(let progress): print(progress.fraction ?? 0)
    case .failed(let error): print(error)
    default: break
    }
}
// snippet.end

// The download has completed by then.
do {
    // snippet.signed
    try await download.resume(with: "/films/1?signature=new")
    // snippet.end
} catch PulseError.cancelled {}
await downloads.shutdown()

await client.shutdown()
await server.shutdown()
try FileManager.default.removeItem(at: folder)
