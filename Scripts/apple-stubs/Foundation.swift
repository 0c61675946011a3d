// SPDX-License-Identifier: MIT

// Declarations for Scripts/check-apple, never compiled into anything: `import Foundation` in the sources becomes an
// import of this module. What only Apple's Foundation has, or what Linux marks as unavailable, is declared here.
@_exported import Darwin
@_exported import Foundation
@_exported import FoundationNetworking

extension Stream {
    // NSStream.h, iOS 8, macOS 10.10; the streams are nullable.
    public class func getBoundStreams(
        withBufferSize bufferSize: Int, inputStream: inout InputStream?, outputStream: inout OutputStream?
    ) {}
}

// CFStream.h, iOS 7, macOS 10.9; of a CFWriteStream, to which OutputStream bridges.
public func CFWriteStreamSetDispatchQueue(_ stream: OutputStream!, _ queue: DispatchQueue?) {}

extension URLRequest {
    // NSURLRequest.h, iOS 14.5, macOS 11.3.
    public var assumesHTTP3Capable: Bool {
        get { false }
        set {}
    }
    // NSURLRequest.h, iOS 13, macOS 10.15.
    public var allowsExpensiveNetworkAccess: Bool {
        get { true }
        set {}
    }
    public var allowsConstrainedNetworkAccess: Bool {
        get { true }
        set {}
    }
}

// NSURLProtectionSpace.h, iOS 3, macOS 10.6; nonnull.
public let NSURLAuthenticationMethodServerTrust = "NSURLAuthenticationMethodServerTrust"
public let NSURLAuthenticationMethodClientCertificate = "NSURLAuthenticationMethodClientCertificate"

extension URLSessionConfiguration {
    // NSURLSession.h, iOS 11, macOS 10.13. Foundation on Linux only reads it.
    public var waitsForConnectivity: Bool {
        get { false }
        set {}
    }
    // NSURLSession.h, iOS 13, macOS 10.15.
    public var allowsExpensiveNetworkAccess: Bool {
        get { true }
        set {}
    }
    public var allowsConstrainedNetworkAccess: Bool {
        get { true }
        set {}
    }
    public var tlsMinimumSupportedProtocolVersion: tls_protocol_version_t {
        get { .TLSv12 }
        set {}
    }
    public var tlsMaximumSupportedProtocolVersion: tls_protocol_version_t {
        get { .TLSv13 }
        set {}
    }
}

// Background sessions.

// NSURLSession.h, iOS 7, macOS 10.9; a key of the user info of a download's error.
public let NSURLSessionDownloadTaskResumeData = "NSURLSessionDownloadTaskResumeData"

extension URLSessionConfiguration {
    // NSURLSession.h, iOS 8, macOS 10.10; nonnull.
    public class func background(withIdentifier identifier: String) -> URLSessionConfiguration { .ephemeral }
    // NSURLSession.h, iOS 7, macOS 11.
    public var sessionSendsLaunchEvents: Bool {
        get { true }
        set {}
    }
}

extension URLSessionTask {
    // NSURLSession.h, iOS 11, macOS 10.13; nullable.
    public var earliestBeginDate: Date? {
        get { nil }
        set {}
    }
}
