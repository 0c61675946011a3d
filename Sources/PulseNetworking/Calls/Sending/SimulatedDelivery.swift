// SPDX-License-Identifier: MIT

package import PulseCore
import PulsePlatform

/// Converts a simulated response to the requested delivery, by the rules of every transport.
package struct SimulatedDelivery: Sendable {
    private let delivery: TransportRequest.Delivery
    private let progress: (@Sendable (TransferProgress) -> Void)?

    package init(_ request: TransportRequest) {
        delivery = request.delivery
        progress = request.progress
    }

    /// The response, if its body already has the requested delivery: bytes for a buffered call, within its limit.
    package func deliverAtOnce(_ response: PulseResponse) -> PulseResponse? {
        guard case .buffered(let limit) = delivery, case .buffered(let data) = response.body else { return nil }
        guard data.count <= limit else { return nil }
        var response = response
        if response.origin == .network { response.origin = .mock }
        return response
    }

    package func deliver(_ response: PulseResponse) async throws -> PulseResponse {
        if let response = deliverAtOnce(response) { return response }
        do {
            return try await converted(response)
        } catch {
            var head = response
            head.data = Data()
            throw TransportFailure(ofBody: error, of: head) ?? error
        }
    }

    private func converted(_ response: PulseResponse) async throws -> PulseResponse {
        var response = response
        if response.origin == .network { response.origin = .mock }
        let isSuccess = (200..<300).contains(response.statusCode)
        switch delivery {
        case .upgrade where response.connection != nil:
            break
        case .buffered(let limit):
            let stream = try stream(of: response)
            response.data = try await stream.collect(upTo: limit)
            response.trailers = stream.trailersAtEnd?() ?? response.trailers
        case .streamed where isSuccess:
            response.body = .stream(try stream(of: response))
        case .file(let url, let offset) where isSuccess:
            if response.file == nil { try await write(&response, to: url, from: offset) }
        case .streamed, .file, .upgrade:
            try await cut(&response)
        }
        return response
    }

    /// The body as a stream, whatever its form.
    private func stream(of response: PulseResponse) throws -> ByteStream {
        switch response.body {
        case .buffered(let data):
            return ByteStream(data.isEmpty ? [] : [data])
        case .stream(let stream):
            return stream
        case .file(let url):
            return ByteStream([try Data(contentsOf: url)])
        case .connection:
            response.discard()
            throw PulseError.unsupported("a connection is the body of an upgrade alone")
        case .failed(let error):
            throw error
        }
    }

    private func cut(_ response: inout PulseResponse) async throws {
        var body = Data()
        for try await chunk in try stream(of: response) {
            body.append(chunk)
            if body.count > PulseResponse.errorBodyLimit { break }
        }
        response.isTruncated = response.isTruncated || body.count > PulseResponse.errorBodyLimit
        response.data = Data(body.prefix(PulseResponse.errorBodyLimit))
    }

    /// A 206 continues the file at `offset`; any other response is the whole of it.
    private func write(_ response: inout PulseResponse, to url: URL, from offset: Int64) async throws {
        let body = try await stream(of: response).collect(upTo: .max)
        let start = response.statusCode == 206 ? max(0, offset) : 0
        do {
            if start > 0 {
                let handle = try FileHandle.writing(url)
                try handle.truncate(atOffset: UInt64(start))
                try handle.seekToEnd()
                try handle.write(contentsOf: body)
                try handle.close()
            } else {
                try body.write(to: url)
            }
        } catch {
            throw TransportFailure(
                code: .cannotWriteToFile, phase: .responseStarted, underlying: FileFault.naming(error, url))
        }
        response.body = .file(url)
        let size = start + Int64(body.count)
        progress?(TransferProgress(completed: size, total: size))
    }
}
