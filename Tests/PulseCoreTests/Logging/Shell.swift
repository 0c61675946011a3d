// SPDX-License-Identifier: MIT

import PulseCore
import TestSupport

#if !canImport(UIKit)
/// Runs scripts in a real shell.
enum Shell {
    /// Dash where it is the system's, which knows nothing beyond POSIX, and bash.
    static let all = ["/bin/sh", "/bin/bash"].filter { FileManager.default.isExecutableFile(atPath: $0) }

    static let hasCurl = FileManager.default.isExecutableFile(atPath: "/usr/bin/curl")

    /// What the script wrote to standard output. It runs in a folder of its own.
    static func output(of script: String, in shell: String = "/bin/sh") async throws -> Data {
        let folder = FileManager.default.temporaryDirectory.appendingPathComponent("shell-\(UUID())")
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        try Data(script.utf8).write(to: folder.appendingPathComponent("script"))
        return try await ChildProcess.run("/bin/sh", ["-c", #"cd "$0" && exec "$1" ./script"#, folder.path, shell])
            .output
    }
}
#endif
