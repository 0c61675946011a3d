// SPDX-License-Identifier: MIT

#if canImport(CPulsePlatform)
import CPulsePlatform
import PulseCore

/// A handle of libcurl with its options, which carries one request after another.
final class CurlHandle {
    let easy: UnsafeMutableRawPointer
    let environment: CurlEnvironment
    private let sessions: CurlSessions
    let errorText = UnsafeMutablePointer<CChar>.allocate(capacity: 256)
    /// Must live as long as libcurl may read it.
    private var headerList: UnsafeMutablePointer<pulse_curl_slist>?
    /// The settings on the handle, if another common request can reuse them.
    private var settings: CurlRequest.ReusableSettings?
    /// Whether nothing is set on the handle.
    private var isFresh = true

    /// Nil without memory.
    init?(_ environment: CurlEnvironment) {
        guard let easy = pulse_curl_easy_init() else { return nil }
        self.easy = easy
        self.environment = environment
        sessions = environment.sessions()
        sessions.share(with: easy)
        errorText.initialize(repeating: 0, count: 256)
    }

    deinit {
        pulse_curl_easy_cleanup(easy)
        free(headerList)
        errorText.deallocate()
    }

    var library: CurlLibrary { environment.library }

    /// Whether its connections resume sessions that were made with the system's present authorities.
    var isCurrent: Bool { sessions === environment.sessions() }

    /// libcurl's text for the failure; empty without one.
    var text: String { String(cString: errorText) }

    /// libcurl's text for a result of this handle.
    func text(of result: Int32) -> String {
        text.isEmpty ? String(cString: pulse_curl_easy_strerror(result)) : text
    }

    /// Sets the options of a request whose callbacks get the transfer. Throws ``PulseError`` for what this libcurl does
    /// not support.
    func prepare(_ request: CurlRequest, for transfer: CurlTransfer) throws {
        errorText[0] = 0
        let wanted = library.hasPrerequest ? request.reusableSettings : nil
        if wanted == nil || wanted != settings {
            settings = nil
            if !isFresh { pulse_curl_easy_reset(easy) }
            isFresh = false
            try setOptions(of: request, Unmanaged.passUnretained(transfer).toOpaque())
            settings = wanted
        }
        set(PULSE_CURLOPT_URL, request.url)
        free(headerList)
        headerList = request.headerLines.withUnsafeBytes { pulse_curl_lines($0.baseAddress, $0.count) }
        set(PULSE_CURLOPT_HTTPHEADER, headerList)
    }

    /// Makes the next request set all options again.
    func forgetSettings() {
        settings = nil
    }

    /// Releases the resources of the last request.
    func rest() {
        free(headerList)
        headerList = nil
        if settings == nil {
            pulse_curl_easy_reset(easy)
            isFresh = true
        }
    }

    /// Makes libcurl open a connection, even if it has an idle one.
    func useNewConnection() {
        settings = nil
        set(PULSE_CURLOPT_FRESH_CONNECT, 1)
    }

    /// Makes libcurl close the connection when the transfer ends, unless others are using it.
    ///
    /// Necessary before an early end over HTTP/2: libcurl 7.88 tells the server of it only with the next request.
    func closeConnectionAtEnd() {
        settings = nil
        set(PULSE_CURLOPT_FORBID_REUSE, 1)
    }

    /// Continues after a callback has paused libcurl.
    func proceed() {
        _ = pulse_curl_easy_pause(easy, Int32(PULSE_CURLPAUSE_CONT))
    }

    /// Joins the loop. False without memory.
    func join(_ group: Int32) -> Bool {
        pulse_loop_add(environment.poller, group, easy)
    }

    /// Leaves the loop.
    func leave(_ group: Int32) {
        pulse_loop_remove(environment.poller, group, easy)
    }

    // MARK: Options

    @discardableResult
    func set(_ option: Int, _ value: Int) -> Int32 {
        pulse_curl_set_long(easy, Int32(option), value)
    }

    @discardableResult
    func set(_ option: Int, _ value: UnsafeRawPointer?) -> Int32 {
        pulse_curl_set_pointer(easy, Int32(option), value)
    }

    /// libcurl copies the text.
    @discardableResult
    func set(_ option: Int, _ text: String) -> Int32 {
        text.withCString { pulse_curl_set_pointer(easy, Int32(option), $0) }
    }

    // MARK: What libcurl knows

    var isConnectionReused: Bool { long(PULSE_CURLINFO_NUM_CONNECTS) == 0 }

    /// Whether TLS has negotiated HTTP/2.
    var isMultiplexed: Bool { pulse_tls_state(easy) == PULSE_TLS_MULTIPLEXED }

    func long(_ info: Int) -> Int {
        pulse_curl_get_long(easy, Int32(info))
    }

    func offset(_ info: Int) -> Int64 {
        pulse_curl_get_offset(easy, Int32(info))
    }

    /// The socket of the transfer's connection; nil if it is unknown.
    var connection: pulse_socket? {
        var socket = pulse_socket()
        return pulse_loop_connection(environment.poller, easy, &socket) ? socket : nil
    }
}
#endif
