// SPDX-License-Identifier: MIT

import LocalServers
import PulseKit
import Testing

/// Files in the place of variables.
@Suite(.servers, .serialized, .timeLimit(.minutes(5)))
struct UploadTests {
    struct File: Decodable, Hashable {
        let filename: String
        let mimeType: String
        let size: Int
        /// CRC-32.
        let checksum: String

        static let empty = File(filename: "nothing.txt", mimeType: "text/plain", size: 0, checksum: "0")
        static let hello = File(filename: "h\u{e4}llo.bin", mimeType: "image/png", size: 5, checksum: "907060870")

        /// The file of 1 GiB in the servers' directory.
        static func big() throws -> File {
            let checksum = try String(contentsOfFile: LocalServers.directory + "/big.crc32", encoding: .utf8)
            return File(filename: "big", mimeType: "application/octet-stream", size: 1 << 30, checksum: checksum)
        }
    }

    struct Upload: GraphQLOperation {
        struct Value: Decodable, Sendable {
            let upload: File
        }

        struct Variables: Encodable, Sendable {
            let file = JSONValue.null
        }

        static let document = "mutation($file: Upload!) { upload(file: $file) { filename mimeType size checksum } }"
        let variables = Variables()
        let uploads: [GraphQLUpload]

        init(_ upload: GraphQLUpload) {
            uploads = [upload]
        }
    }

    struct UploadAlbum: GraphQLOperation {
        struct Value: Decodable, Sendable {
            let files: [File]
        }

        struct Variables: Encodable, Sendable {
            let album: JSONValue
        }

        static let document = """
            mutation UploadAlbum($album: Album!) {
                files: uploadAlbum(album: $album) { filename mimeType size checksum }
            }
            """
        let variables: Variables
        let uploads: [GraphQLUpload]

        init(count: Int, _ uploads: [GraphQLUpload]) {
            let files = JSONValue.array(Array(repeating: .null, count: count))
            variables = Variables(album: ["title": "all", "files": files])
            self.uploads = uploads
        }
    }

    private static let big = URL(fileURLWithPath: LocalServers.directory + "/big")
    private static let hello = Data("hello".utf8)

    @Test(arguments: Server.libraries, Route.allCases)
    func aFileOfNoBytesArrives(library: Server, route: Route) async throws {
        try await GraphQLServers.withClient(of: library, by: route) { client in
            let upload = GraphQLUpload("file", data: Data(), filename: "nothing.txt")
            let file = try await client.graphQL(Upload(upload)).upload
            #expect(file == .empty)
        }
    }

    @Test(arguments: Server.libraries, Route.allCases)
    func filesArriveInTheirPlacesOfAList(library: Server, route: Route) async throws {
        try await GraphQLServers.withClient(of: library, by: route) { client in
            let operation = UploadAlbum(
                count: 4,
                [
                    GraphQLUpload("album.files.3", data: Data(), filename: File.empty.filename),
                    // One file in two places.
                    GraphQLUpload(
                        "album.files.0", "album.files.2", data: Self.hello, filename: File.hello.filename,
                        mimeType: "image/png"),
                    GraphQLUpload("album.files.1", data: Data(), filename: File.empty.filename),
                ])
            let files = try await client.graphQL(operation).files
            // The server has read the one file when it comes to the second place.
            #expect(files.map(\.filename) == [0, 1, 0, 1].map { [File.hello, .empty][$0].filename })
            #expect(files[0] == .hello)
            #expect(files[1] == .empty)
            #expect(files[3] == .empty)
        }
    }

    /// It is sent again after a 401, from the file.
    @Test(arguments: Server.libraries, Route.allCases)
    func anUploadIsSentAgainWithANewToken(library: Server, route: Route) async throws {
        let path = LocalServers.directory + "/some"
        defer { try? FileManager.default.removeItem(atPath: path) }
        try Data(repeating: 7, count: 32 << 20).write(to: URL(fileURLWithPath: path))
        let session = Session()
        try await GraphQLServers.withClient(of: library, by: route, "/guarded", plugins: [.auth(session)]) { client in
            let upload = GraphQLUpload("file", file: URL(fileURLWithPath: path), mimeType: "text/x-sevens")
            let file = try await client.graphQL(Upload(upload)).upload
            #expect(file == File(filename: "some", mimeType: "text/x-sevens", size: 32 << 20, checksum: "1458839440"))
        }
        #expect(await session.refreshes == 1)
    }

    #if os(Linux)
    @Test(arguments: Server.libraries, Route.allCases)
    func anUploadOfOneGiBTakesLittleMemory(library: Server, route: Route) async throws {
        try await GraphQLServers.withClient(of: library, by: route) { client in
            // What the first request of a client loads.
            _ = try await client.graphQL(Upload(GraphQLUpload("file", data: Self.hello, filename: "hello")))
            let (file, rise) = try await Memory.rise {
                try await client.graphQL(Upload(GraphQLUpload("file", file: Self.big))).upload
            }
            #expect(file == (try File.big()))
            #expect(rise <= 30 << 20)
        }
    }

    @Test(arguments: Server.libraries, Route.allCases)
    func anUploadOfOneGiBInAListTakesLittleMemory(library: Server, route: Route) async throws {
        try await GraphQLServers.withClient(of: library, by: route) { client in
            _ = try await client.graphQL(Upload(GraphQLUpload("file", data: Self.hello, filename: "hello")))
            let operation = UploadAlbum(
                count: 3,
                [
                    GraphQLUpload("album.files.0", data: Data(), filename: File.empty.filename),
                    GraphQLUpload("album.files.1", file: Self.big),
                    GraphQLUpload(
                        "album.files.2", data: Self.hello, filename: File.hello.filename, mimeType: "image/png"),
                ])
            let (files, rise) = try await Memory.rise { try await client.graphQL(operation).files }
            #expect(files == [.empty, try File.big(), .hello])
            #expect(rise <= 30 << 20)
        }
    }
    #endif
}
