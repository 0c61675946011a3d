// SPDX-License-Identifier: MIT

import Foundation
import HTTPTypes
import HummingbirdCore
import NIOCore

/// The responses, the same as those of `../go/main.go`.
struct Endpoints: Sendable {
    /// Ends a response within its body.
    private struct Cut: Error {}

    private let files: [String: ByteBuffer]
    private let board = Board()

    init(_ directory: URL) throws {
        var files: [String: ByteBuffer] = [:]
        for name in ["text", "text.gzip", "large", "missing"] {
            files[name] = ByteBuffer(bytes: try Data(contentsOf: directory.appendingPathComponent(name)))
        }
        self.files = files
    }

    func respond(to request: Request, _ writer: consuming ResponseWriter, _ channel: any Channel) async throws {
        let path = request.head.path ?? "/"
        if request.headers[.expect] != nil {
            try await writer.writeInformationalHead(HTTPResponse(status: .continue))
        }
        if path == "/hints" {
            let fields = HTTPFields([("Link", "</style.css>; rel=preload")])
            try await writer.writeInformationalHead(HTTPResponse(status: .earlyHints, headerFields: fields))
        }
        var response = try await self.response(to: request, path)
        if request.method == .head { response = response.createHeadResponse() }
        await endIfShortLived(request, channel, &response)
        try await writer.write(response: response.head, body: response.body)
    }

    /// Ends each connection to the host `short.localhost` after ten requests, over HTTP/2 by a GOAWAY.
    private func endIfShortLived(_ request: Request, _ channel: any Channel, _ response: inout Response) async {
        guard request.head.authority?.hasPrefix("short.") == true else { return }
        // The parent of a stream is its connection, that of a connection the listener.
        let shared = channel.parent?.parent == nil ? nil : channel.parent
        let connection = shared ?? channel
        guard await board.isTenth(on: ObjectIdentifier(connection)) else { return }
        if shared == nil { response.headers[.connection] = "close" }
        connection.pipeline.fireUserInboundEventTriggered(ChannelShouldQuiesceEvent())
    }

    private func response(to request: Request, _ path: String) async throws -> Response {
        let target = path.split(separator: "?", maxSplits: 1).map(String.init)
        let parts = (target.first ?? "").split(separator: "/").map(String.init)
        let name = parts.dropFirst().first ?? ""
        switch parts.first {
        case "files": return file(name, request)
        case "none": return Response(status: .noContent)
        case "gzip": return compressed(request)
        case "head":
            let value = String(repeating: "a", count: 4096)
            return text("head", fields: HTTPFields((0..<10).map { ("X-Field-\($0)", value) }))
        case "refused": return text("refused", .contentTooLarge)
        case "moved": return text("moved", .temporaryRedirect, fields: HTTPFields([("Location", "/echo")]))
        case "echo":
            return Response(status: .ok, body: ResponseBody(byteBuffer: try await request.body.collect(upTo: 64 << 20)))
        case "hints": return text("hinted")
        case "trailers": return Response(status: .ok, body: trailers)
        case "steps": return Response(status: .ok, body: steps(name))
        case "release":
            await board.release(name)
            return text("released")
        // Waits for `/open/NAME/COUNT`, which opens the gate for that many requests and all later ones.
        case "gate":
            await board.pass(name, arrivals: 1)
            await board.add(target.last?.replacingOccurrences(of: "id=", with: "") ?? "", to: name)
            return text("passed")
        case "open":
            await board.pass(name, arrivals: 0, limit: parts.last.flatMap { Int($0) })
            return text("opened")
        case "add":
            let body = try await request.body.collect(upTo: 1 << 20)
            await board.add(String(buffer: body), to: name)
            return text("added")
        case "added": return text(await board.added(to: name))
        case "cut": return Response(status: .ok, body: cut(hasLength: name == "length"))
        default: return Response(status: .notFound, body: body("missing"))
        }
    }

    private func text(
        _ text: String, _ status: HTTPResponse.Status = .ok, fields: HTTPFields = HTTPFields()
    ) -> Response {
        var fields = fields
        fields[.contentType] = "text/plain"
        return Response(status: status, headers: fields, body: ResponseBody(byteBuffer: ByteBuffer(string: text)))
    }

    private func body(_ file: String) -> ResponseBody {
        ResponseBody(byteBuffer: files[file] ?? ByteBuffer())
    }

    private func file(_ name: String, _ request: Request) -> Response {
        let fields = HTTPFields([("ETag", "\"\(name)\"")])
        if request.headers[.ifNoneMatch] == "\"\(name)\"" { return Response(status: .notModified, headers: fields) }
        return Response(status: .ok, headers: fields, body: body(name))
    }

    private func compressed(_ request: Request) -> Response {
        guard request.headers[.acceptEncoding]?.contains("gzip") == true else {
            return Response(status: .ok, body: body("text"))
        }
        return Response(status: .ok, headers: HTTPFields([("Content-Encoding", "gzip")]), body: body("text.gzip"))
    }

    private var trailers: ResponseBody {
        ResponseBody { writer in
            try await writer.write(ByteBuffer(string: "body"))
            try await writer.finish(HTTPFields([("X-Sum", "1")]))
        }
    }

    private func steps(_ name: String) -> ResponseBody {
        ResponseBody { [board] writer in
            for chunk in ["one", "two", "three"] {
                if chunk != "one" { await board.step(name) }
                try await writer.write(ByteBuffer(string: chunk))
            }
            try await writer.finish(nil)
        }
    }

    /// Half of a body, and then the end of its stream or connection.
    private func cut(hasLength: Bool) -> ResponseBody {
        let whole = files["large"] ?? ByteBuffer()
        let half = whole.getSlice(at: whole.readerIndex, length: whole.readableBytes / 2) ?? ByteBuffer()
        return ResponseBody(contentLength: hasLength ? whole.readableBytes : nil) { writer in
            try await writer.write(half)
            throw Cut()
        }
    }
}

extension HTTPFields {
    /// Fields whose names are tokens.
    init(_ fields: [(String, String)]) {
        self.init()
        for (name, value) in fields {
            guard let name = HTTPField.Name(name) else { continue }
            append(HTTPField(name: name, value: value))
        }
    }
}
