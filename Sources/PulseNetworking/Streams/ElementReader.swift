// SPDX-License-Identifier: MIT

import PulseCore

/// Splits the chunks of a body into elements.
protocol BodySplitter: Sendable {
    associatedtype Element
    mutating func append(_ chunk: Data)
    /// Returns the next whole element; nil if more bytes are needed.
    mutating func next() throws -> Element?
    /// Returns the element at the end of the body, if there is one.
    mutating func finish() throws -> Element?
}

extension LineSplitter: BodySplitter {}
extension JSONTextSplitter: BodySplitter {}

/// Reads a cold stream: it sends the request when the first element is requested.
///
/// Elements received in full before a failure are returned before the failure is thrown.
struct ElementReader<Splitter: BodySplitter> {
    /// Sends the request, and returns its response with the splitter for its body.
    typealias Open = @Sendable () async throws -> (StreamedResponse, Splitter)

    private var open: Open?
    private var chunks: ByteStream.Iterator?
    private var splitter: Splitter?
    /// The response; nil before the first element was requested.
    private(set) var response: StreamedResponse?

    init(_ open: @escaping Open) {
        self.open = open
    }

    /// Returns the next element of the chunks read so far; nil if more are needed.
    mutating func wholeElement() throws -> Splitter.Element? {
        do {
            try Task.checkCancellation()
            return try splitter?.next()
        } catch {
            throw end(error)
        }
    }

    mutating func next() async throws -> Splitter.Element? {
        do {
            return try await nextElement()
        } catch {
            throw end(error)
        }
    }

    private mutating func nextElement() async throws -> Splitter.Element? {
        if let open {
            self.open = nil
            let (response, splitter) = try await open()
            (self.response, self.splitter, chunks) = (response, splitter, response.bytes.makeAsyncIterator())
        }
        while true {
            if let element = try splitter?.next() { return element }
            guard let chunk = try await chunks?.next() else {
                chunks = nil
                return try splitter?.finish()
            }
            splitter?.append(chunk)
        }
    }

    /// Ends the stream and its call, unless the elements after the failure can be read.
    private mutating func end(_ error: any Error) -> any Error {
        if error is JSONTextSplitter.CutText { return error }
        (open, chunks, splitter) = (nil, nil, nil)
        return PulseError(wrapping: error)
    }
}

/// A response, and its body as a stream, however it was delivered.
struct StreamedResponse: Sendable {
    let bytes: ByteStream
    /// The response without its body.
    let head: PulseResponse

    let environment: CallEnvironment

    var decoder: any ResponseDecoder { head.decoder ?? .json }

    init(_ response: PulseResponse, _ environment: CallEnvironment) {
        bytes = response.stream
        self.environment = environment
        var head = response
        head.data = Data()
        self.head = head
    }
}
