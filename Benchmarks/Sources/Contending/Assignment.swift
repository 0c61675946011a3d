// SPDX-License-Identifier: MIT

public import Foundation

/// What a contender is to do next: one line of JSON on its standard input.
public enum Assignment: Codable, Sendable {
    /// Small requests, so many in flight, for so many seconds.
    case requests(URL, inFlight: Int, seconds: Double)
    case stream(URL)
    case download(URL, to: URL)
    case upload(URL, to: URL)
}

/// What it cost: one line of JSON on the contender's standard output.
public struct Figure: Codable, Sendable {
    /// Requests answered, or bytes moved.
    public var count: Int
    public var seconds: Double
    /// Seconds of all processors, in this process and in the kernel for it.
    public var processorSeconds: Double
    /// Bytes resident before.
    public var memoryBefore: Int
    /// Bytes resident at most since.
    public var memoryPeak: Int
    /// Seconds that half of the requests spent at most outside of their transport; nil where that is not measured.
    public var layerSeconds: Double?

    public init(
        count: Int, seconds: Double, processorSeconds: Double, memoryBefore: Int, memoryPeak: Int,
        layerSeconds: Double? = nil
    ) {
        self.count = count
        self.seconds = seconds
        self.processorSeconds = processorSeconds
        self.memoryBefore = memoryBefore
        self.memoryPeak = memoryPeak
        self.layerSeconds = layerSeconds
    }
}
