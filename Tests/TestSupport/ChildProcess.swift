// SPDX-License-Identifier: MIT

import PulseCore

#if !canImport(UIKit)
/// Another process.
///
/// Not Foundation's `Process`: on Linux it reads past the end of a buffer if this process has over a thousand open
/// descriptors, as it does when all tests run in parallel.
public enum ChildProcess {
    /// The path of an executable of this package.
    public static func product(_ name: String) -> String {
        var image = CommandLine.arguments[0]
        #if canImport(Darwin)
        // The program is the toolchain's runner, which loads the tests.
        var information = Dl_info()
        if dladdr(#dsohandle, &information) != 0, let name = information.dli_fname { image = String(cString: name) }
        #endif
        return folder(of: image) + "/" + name
    }

    /// The folder of the products, from the path of the image with the tests: `X.xctest` in it, or on macOS
    /// `X.xctest/Contents/MacOS/X`.
    package static func folder(of image: String) -> String {
        var url = URL(fileURLWithPath: image)
        repeat { url.deleteLastPathComponent() } while url.path.contains(".xctest")
        return url.path
    }

    /// Runs a program to its end, with empty standard input. Returns its standard output and the signal that ended it:
    /// 0 if it exited.
    public static func run(_ path: String, _ arguments: [String]) async throws -> (output: Data, signal: Int32) {
        // The file is unlinked at once, so that nothing is left if this process is killed.
        var name = Array("\(FileManager.default.temporaryDirectory.path)/output-XXXXXX".utf8CString)
        let output = FileHandle(fileDescriptor: mkstemp(&name), closeOnDealloc: true)
        unlink(name)
        let process = try spawn(path, arguments, output: output.fileDescriptor)
        let status = await withCheckedContinuation { continuation in
            Thread.detachNewThread {
                var status: Int32 = 0
                while waitpid(process, &status, 0) == -1, errno == EINTR {}
                continuation.resume(returning: status)
            }
        }
        try output.seek(toOffset: 0)
        return (try output.readToEnd() ?? Data(), status & 0x7F)
    }

    private static func spawn(_ path: String, _ arguments: [String], output: Int32) throws -> pid_t {
        #if canImport(Darwin)
        var actions: posix_spawn_file_actions_t?
        #else
        var actions = posix_spawn_file_actions_t()
        #endif
        posix_spawn_file_actions_init(&actions)
        defer { posix_spawn_file_actions_destroy(&actions) }
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
        posix_spawn_file_actions_adddup2(&actions, output, 1)
        #if canImport(Glibc)
        // A copy of a socket of another test would keep its connection open. The header hides the function from Swift.
        if let symbol = dlsym(nil, "posix_spawn_file_actions_addclosefrom_np") {
            typealias CloseFrom = @convention(c) (UnsafeMutablePointer<posix_spawn_file_actions_t>, CInt) -> CInt
            _ = unsafeBitCast(symbol, to: CloseFrom.self)(&actions, 3)
        }
        #endif
        let words = ([path] + arguments).map { strdup($0) } + [nil]
        let environment = ProcessInfo.processInfo.environment.map { strdup("\($0)=\($1)") } + [nil]
        defer { for text in words + environment { free(text) } }
        var process: pid_t = 0
        let failure = posix_spawn(&process, path, &actions, nil, words, environment)
        guard failure == 0 else { throw POSIXError(POSIXErrorCode(rawValue: failure) ?? .EIO) }
        return process
    }
}
#endif
