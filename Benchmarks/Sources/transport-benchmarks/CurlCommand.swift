// SPDX-License-Identifier: MIT

import Contending
import Foundation

/// The `curl` command, as a reference for speed.
enum CurlCommand {
    /// Writes a body to a file, and waits until it is on the disk.
    ///
    /// - Parameter isHashed: whether `sha256sum` reads it then.
    static func download(of url: URL, to file: URL, isHashed: Bool = false) throws -> Figure {
        let hash = isHashed ? " && sha256sum \"$1\" > /dev/null" : ""
        return try figure(
            of: "curl -sS -o \"$1\" \"$0\" && sync \"$1\"" + hash, [url.absoluteString, file.path], moving: file)
    }

    /// PUTs a file.
    static func upload(of file: URL, to url: URL) throws -> Figure {
        try figure(of: "curl -sSf -o /dev/null -T \"$1\" \"$0\"", [url.absoluteString, file.path], moving: file)
    }

    static func sha256(of file: URL) throws -> String {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["sha256sum", file.path]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return String(text.prefix(64))
    }

    /// The cost of a command of the shell that moves the bytes of that file.
    private static func figure(of command: String, _ arguments: [String], moving file: URL) throws -> Figure {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/bin/sh")
        process.arguments = ["-c", command] + arguments
        let (before, start) = (MachineLoad.processorSecondsOfEnded, DispatchTime.now().uptimeNanoseconds)
        try process.run()
        process.waitUntilExit()
        let seconds = Double(DispatchTime.now().uptimeNanoseconds - start) / 1e9
        guard process.terminationStatus == 0,
            let count = try FileManager.default.attributesOfItem(atPath: file.path)[.size] as? Int
        else { throw WrongResponse() }
        return Figure(
            count: count, seconds: seconds, processorSeconds: MachineLoad.processorSecondsOfEnded - before,
            memoryBefore: 0, memoryPeak: 0)
    }

    /// Reads a body and discards it. The time is curl's own, without its start; its memory is not measured.
    static func figure(of url: URL) throws -> Figure {
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
        process.arguments = ["curl", "-sS", "-o", "/dev/null", "-w", "%{size_download} %{time_total}"]
        process.arguments?.append(url.absoluteString)
        process.standardOutput = output
        let before = MachineLoad.processorSecondsOfEnded
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        let numbers = text.split(separator: " ").compactMap { Double($0) }
        guard process.terminationStatus == 0, numbers.count == 2 else { throw WrongResponse() }
        return Figure(
            count: Int(numbers[0]), seconds: numbers[1],
            processorSeconds: MachineLoad.processorSecondsOfEnded - before, memoryBefore: 0, memoryPeak: 0)
    }
}
