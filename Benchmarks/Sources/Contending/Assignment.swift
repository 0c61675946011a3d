// SPDX-License-Identifier: MIT

public import Foundation

/// The next task of a contender: one line of JSON on its standard input.
public enum Assignment: Codable, Sendable {
    /// Small requests, that many in flight, for that many seconds.
    case requests(URL, inFlight: Int, seconds: Double)
    /// The same with bodies of that many bytes, which are not decoded.
    case bodies(URL, size: Int, inFlight: Int, seconds: Double)
    case stream(URL)
    /// A text that is read line by line.
    case lines(URL)
    /// Event streams one after the other for that many seconds, each from its request to its first event.
    case firstEvents(URL, seconds: Double)
    /// - Parameter sha256: the digest of the file, which is checked; nil for none.
    /// - Parameter isReported: whether a closure takes the progress.
    case download(URL, to: URL, sha256: String? = nil, isReported: Bool = false)
    case upload(URL, to: URL)
    /// Binary messages of that many bytes over one WebSocket, which a server sends back, that many in flight.
    case echoes(URL, size: Int, window: Int, seconds: Double)
}

/// The cost: one line of JSON on the contender's standard output.
public struct Figure: Codable, Sendable {
    /// Completed requests, bytes moved, lines read, or messages that came back.
    public var count: Int
    public var seconds: Double
    /// Processor seconds, in this process and in the kernel for it.
    public var processorSeconds: Double
    /// Bytes resident before.
    public var memoryBefore: Int
    /// The peak of resident bytes since then.
    public var memoryPeak: Int
    public init(
        count: Int, seconds: Double, processorSeconds: Double, memoryBefore: Int, memoryPeak: Int
    ) {
        self.count = count
        self.seconds = seconds
        self.processorSeconds = processorSeconds
        self.memoryBefore = memoryBefore
        self.memoryPeak = memoryPeak
    }
}
